"""Find the equal layers of a program, and to which layer each op belongs.

    %1 = dot %x, %a   %2 = tanh %1     layer 0, forward; what computes %x belongs to it
    %3 = dot %2, %b   %4 = tanh %3     layer 1, forward
    ...                                what uses the output of the last layer belongs to that layer

Layers are runs of equal ops, each of which uses results of the one before. Of the other ops, those of the backward pass
and of the optimizer belong to the first layer whose values they use: what flows back from the last layer to the first
depends on the values of all layers that it passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.facts.traits import is_terminator
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_block, main_function
from sdy.dialects.ir.walk import ancestor_in, ops_in
from sdy.dialects.module_text import make_context
from sdy.dialects.sharded_types import static_shape, tensor_bytes
from sdy.model.mesh import Mesh
from sdy.partitioner.repetition import longest_periodic
from sdy.passes.export.layers.fold_layers import RepeatedLayers, repeated_layers
from sdy.passes.rewriting.structural_hash import StructuralHash, producers, used_from_outside
from sdy.passes.run import run_passes
from sdy.passes.simplify.composite_to_call import CompositeToCallPass
from sdy.passes.simplify.inline import InlinePass
from sdy.search.pipelines.unrolled_loops import unrolled_loops
from sdy.search.searched_module import without_shardings

LEAST_OPS = 3  # of a layer
LEAST_SHARE = 0.25  # of the ops of the longest run of equal layers that the forward pass has at least


@dataclass(frozen=True)
class EqualLayers:
    """A program with `count` equal layers, and the layer of each op of its main function.

    `origins` has for each argument that of the program itself, of which it may be the slice for one layer.

    `forward` has the ops of the forward pass. Ops without a layer depend on arguments alone, and are computed wherever
    they are used. `inputs` has for each layer the values that it takes from the one before, and `trains` says whether
    there is a backward pass.
    """

    module: ModuleOp
    origins: Sequence[BlockArgument]
    count: int
    layer_of: dict[Operation, int]
    forward: frozenset[Operation]
    inputs: Sequence[tuple[SSAValue, ...]]
    trains: bool

    def arguments_by_layer(self) -> list[list[BlockArgument]]:
        """Return the arguments of the main function by the first layer that uses them, in order."""
        homes: dict[SSAValue, int] = {}
        for op in reversed(ops_in(main_block(self.module))):
            users = (homes[result] for result in op.results if result in homes)
            layer = self.layer_of.get(op, min(users, default=None))
            if layer is not None:
                for value in used_from_outside(op):
                    homes[value] = min(layer, homes.get(value, layer))
        found: list[list[BlockArgument]] = [[] for _ in range(self.count)]
        for argument in main_block(self.module).args:
            if argument in homes:
                found[homes[argument]].append(argument)
        return found


def equal_layers(module: ModuleOp) -> EqualLayers:
    """Return the equal layers of a program, in a copy without shardings and calls.

    Raises: SdyError SDY-T263 if fewer than three equal layers follow one another.
    """
    copy = without_shardings(module, Mesh(()))
    run_passes(make_context(), copy, [CompositeToCallPass(), InlinePass(default_pipeline="")], verify_each=False)
    copy, numbers = unrolled_loops(copy)
    block = main_block(copy)
    found = _forward_layers(ops_in(block))
    if found is None:
        message = "the program has fewer than three equal layers, one after the other, which stages could divide"
        hint = "write the layers one after the other, as a Python loop or a scan over the weights of all layers does"
        raise SdyError(Diagnostic("SDY-T263", message, span_of(main_function(copy)), hint))
    origins = [main_block(module).args[index] for index in numbers]
    return _Placement(copy, origins, block, found).placed()


def _forward_layers(ops: Sequence[Operation]) -> RepeatedLayers | None:
    """Return the first long run of equal ops in which each layer uses results of the one before."""
    structure = StructuralHash()
    entries = [structure.of(op) for op in ops]
    parts: list[RepeatedLayers] = []
    longest = 0
    while part := longest_periodic(entries, LEAST_OPS):
        longest = longest or part.end - part.start
        if part.end - part.start < LEAST_SHARE * longest:
            break
        layers = repeated_layers(ops, part)
        if layers is not None and _carried(layers):
            parts.append(layers)
        entries[part.start : part.end] = [-1 - index for index in range(part.start, part.end)]
    numbers = {op: number for number, op in enumerate(ops)}
    return min(parts, key=lambda each: numbers[each.runs[0][0]], default=None)


def _carried(layers: RepeatedLayers) -> list[tuple[SSAValue, ...]]:
    """Return the inputs of the layers that each takes from the one before: of each, the values of all layers."""
    first = set(layers.runs[0])
    return [parameter for parameter in layers.parameters if parameter[1].owner in first]


@dataclass(slots=True)
class _Placement:
    module: ModuleOp
    origins: Sequence[BlockArgument]
    block: Block
    layers: RepeatedLayers
    layer_of: dict[Operation, int] = field(default_factory=dict[Operation, int])
    forward: set[Operation] = field(default_factory=set[Operation])
    levels: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])  # of values that say to which layer

    def placed(self) -> EqualLayers:
        ops, carried = [op for op in ops_in(self.block) if not is_terminator(op)], _carried(self.layers)
        for layer, run in enumerate(self.layers.runs):
            for op in run:
                self._place_forward(op, layer)
        self._set_levels(carried)
        for op in producers((parameter[0] for parameter in carried), lambda op: op not in self.layer_of):
            self._place_forward(op, 0)
        rest = list(self._rest(ops))
        self._place_rest(rest)
        last = len(self.layers.runs) - 1
        trains = any(self.layer_of[op] < last for op in rest)
        self.forward.update(() if trains else rest)
        inputs = [tuple(parameter[layer] for parameter in carried) for layer in range(last + 1)]
        return EqualLayers(self.module, self.origins, last + 1, self.layer_of, frozenset(self.forward), inputs, trains)

    def _place_forward(self, op: Operation, layer: int) -> None:
        self.layer_of[op] = layer
        self.forward.add(op)

    def _set_levels(self, carried: Sequence[tuple[SSAValue, ...]]) -> None:
        """Note which values say that their users belong to a layer: its own ones, its inputs and its weights."""
        last = len(self.layers.runs) - 1
        positions = {
            (number, index)
            for number, op in enumerate(self.layers.runs[0])
            for index, result in enumerate(op.results)
            if any(parameter[1] is result for parameter in carried)
        }
        for layer, run in enumerate(self.layers.runs):
            for number, op in enumerate(run):
                for index, result in enumerate(op.results):
                    self.levels[result] = min(last, layer + ((number, index) in positions))
        for parameter in self.layers.parameters:
            if len(set(parameter)) == len(parameter):
                for layer, value in enumerate(parameter):
                    self.levels.setdefault(value, layer)

    def _rest(self, ops: Sequence[Operation]) -> Iterator[Operation]:
        """Yield the other ops that depend on a layer, in order."""
        dependent = set[Operation](self.layer_of)
        for op in ops:
            if op not in dependent and any(value.owner in dependent for value in used_from_outside(op)):
                dependent.add(op)
                yield op

    def _place_rest(self, rest: Sequence[Operation]) -> None:
        """Place ops in the first layer whose values they use; those that use only scalars, as their users are."""
        for op in rest:
            # A scalar, such as the norm of all gradients, may be computed from any layer.
            used = [
                value for value in used_from_outside(op) if static_shape(value.type) or tensor_bytes(value.type) > 8
            ]
            found = min((self.levels[value] for value in used if value in self.levels), default=None)
            if found is not None:
                self.layer_of[op] = found
                self.levels |= dict.fromkeys(op.results, found)
        last = len(self.layers.runs) - 1
        for op in reversed(rest):
            if op not in self.layer_of:
                users = (ancestor_in(self.block, use.operation) for result in op.results for use in result.uses)
                self.layer_of[op] = min((self.layer_of[user] for user in users if user in self.layer_of), default=last)
