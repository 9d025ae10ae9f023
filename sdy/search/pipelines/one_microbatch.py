"""The program of one microbatch: the first layer, one in the middle and the last one, on a part of the batch.

The batch is divided as a partitioner divides it: it is sharded along an axis `microbatch`, and the program of a device
is that of one microbatch. Its all-reduces are sums over microbatches, and what depends on these runs once a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import cast

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from sdy.compile.compiled import compiled
from sdy.compile.options import CompileOptions
from sdy.compile.origin import Origin
from sdy.compile.signature import FlatSignature
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr, DenseType
from sdy.dialects.facts.traits import collective_kind, is_terminator, terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions, replace_uses
from sdy.dialects.ir.symbols import main_block, main_function
from sdy.dialects.ir.walk import of_class, ops_in, pre_order
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import set_sharding
from sdy.dialects.stablehlo.collectives import AllReduceOp, DeviceIdOp
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.model.axis import AxisRef
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.passes.rewriting.insertion import erase, replace_op
from sdy.passes.rewriting.structural_hash import producers, used_from_outside
from sdy.search.pipelines.equal_layers import EqualLayers
from sdy.search.pipelines.extraction import Extraction, with_mesh
from sdy.search.searched_module import MESH_NAME

AXIS = "microbatch"
FIRST, MIDDLE, LAST = range(3)
_ANYWHERE = 3  # the layer of ops that are computed wherever they are used
_OPEN = DimSharding((), is_closed=False)
_PLACES = "sdy.layers"  # the file name of locations that say to which layer and phase an op belongs


class Phase(IntEnum):
    """When an op runs: in the forward or the backward pass of each microbatch, or once after all of them."""

    FORWARD = 0
    BACKWARD = 1
    UPDATE = 2


@dataclass(frozen=True)
class ThreeLayers:
    """A program with the first, one middle and the last layer of another one, whose other layers are left out.

    `originals` has for each argument those of the other program that it stands for: one, or one of each middle layer.
    Locations say to which layer and phase an op belongs. `batches` are the sizes of the first dims of what a layer
    takes from the one before, which are sharded along `AXIS`.
    """

    module: ModuleOp
    originals: Sequence[Sequence[BlockArgument]]
    batches: Sequence[int]
    trains: bool


@dataclass(frozen=True)
class OneMicrobatch:
    """The program of one microbatch. The line in the location of each op is its number.

    `places` has the layer and the phase of ops, by their numbers; others run wherever they are used. `divided` has the
    numbers of the arguments of which each microbatch has its own part.
    """

    module: ModuleOp
    places: Mapping[int, tuple[int, Phase]]
    divided: frozenset[int]
    trains: bool


def three_layers(layers: EqualLayers) -> ThreeLayers:
    """Return the first, one middle and the last layer of a program as one program."""
    return _Reduction(layers, layers.count // 2).reduced()


@dataclass(slots=True)
class _Reduction:
    layers: EqualLayers
    middle: int
    found: Extraction = field(default_factory=Extraction)

    def reduced(self) -> ThreeLayers:
        layers, old = self.layers, main_function(self.layers.module)
        kept, same = (0, self.middle, layers.count - 1), dict(self._same_values())
        ops = [op for op in ops_in(old.body.block) if not is_terminator(op)]
        own = [op for op in ops if layers.layer_of.get(op) in kept]
        used = (value for op in own for value in used_from_outside(op))
        needed = {*own, *producers(used, lambda op: op not in layers.layer_of)}
        for op in (each for each in ops if each in needed):
            layer = layers.layer_of.get(op)
            place = _ANYWHERE if layer is None else kept.index(layer)
            phase = Phase.FORWARD if layer is None or op in layers.forward else Phase.BACKWARD
            self.found.add(op, same).location = FileLineColLoc(StringAttr(_PLACES), IntAttr(place), IntAttr(phase))
        copies = self.found.copies
        for value in (copies[each] for layer in kept for each in layers.inputs[layer]):
            rank = len(static_shape(value.type) or ())
            dims = (DimSharding((AxisRef(AXIS),)), *[_OPEN] * (rank - 1))
            set_sharding(value, TensorSharding(MESH_NAME, dims))
        module = self.found.module([copies[each] for each in terminator_of(old.body).operands if each.owner in needed])
        batches = tuple((static_shape(value.type) or (1,))[0] for value in layers.inputs[0])
        return ThreeLayers(module, list(self._originals()), batches, layers.trains)

    def _same_values(self) -> Iterator[tuple[SSAValue, SSAValue]]:
        """Yield pairs of a value of a layer that is left out, and the one of a layer that is kept in its place."""
        inputs, last = self.layers.inputs, self.layers.count - 1
        if last > self.middle + 1:
            yield from zip(inputs[last], inputs[self.middle + 1], strict=True)
        if self.middle > 1:
            yield from zip(inputs[self.middle], inputs[1], strict=True)
        passed = [self._passed_back(layer) for layer in (last, self.middle + 1, self.middle, 1)]
        for source, target in ((passed[1], passed[0]), (passed[3], passed[2])):
            if source != target and [value.type for value in source] == [value.type for value in target]:
                yield from zip(source, target, strict=True)

    def _passed_back(self, layer: int) -> list[SSAValue]:
        """Return the values of a layer, except scalars, that the one before uses in the backward pass."""
        layer_of, forward = self.layers.layer_of, self.layers.forward
        return [
            result
            for op, found in layer_of.items()
            if found == layer and op not in forward
            for result in op.results
            if static_shape(result.type) and any(layer_of.get(use.operation) == layer - 1 for use in result.uses)
        ]

    def _originals(self) -> Iterator[Sequence[BlockArgument]]:
        by_layer = self.layers.arguments_by_layer()
        middle = by_layer[1:-1]
        for value in self.found.arguments:
            if not isinstance(value, BlockArgument):
                yield ()
                continue
            number = next((at for at, each in enumerate(by_layer[self.middle]) if each is value), None)
            alike = [] if number is None else [each[number] for each in middle if number < len(each)]
            yield alike if alike and all(each.type == value.type for each in alike) else (value,)


def one_microbatch(layers: ThreeLayers, microbatches: int) -> OneMicrobatch | None:
    """Return the program of one of so many microbatches; None if the batch cannot be divided by their number.

    The batch is the first dim of what layers take from those before.
    Raises: SdyError SDY-T264 if microbatches need results of each other before the gradients.
    """
    if any(batch % microbatches for batch in layers.batches):
        return None
    module = with_mesh(copy_with_regions(layers.module), Mesh((MeshAxis(AXIS, microbatches),)))
    options = CompileOptions(optimize_communication=False)
    local = compiled(module, Origin("", FlatSignature()), options).local
    for op in ops_in(main_block(local)):
        if isinstance(op, DeviceIdOp):
            replace_op(op, _zero_like(op))  # the first microbatch stands for all
    places = _places(main_block(local))
    numbered: dict[int, tuple[int, Phase]] = {}
    for number, op in enumerate(pre_order(local)):
        op.location = FileLineColLoc(StringAttr(AXIS), IntAttr(number), IntAttr(0))
        if op in places:
            numbered[number] = places[op]
    pairs = zip(main_block(local).args, main_block(layers.module).args, strict=True)
    divided = frozenset(part.index for part, whole in pairs if part.type != whole.type)
    return OneMicrobatch(local, numbered, divided, layers.trains)


def _zero_like(op: DeviceIdOp) -> ConstantOp:
    found = cast("DenseType", op.results[0].type)
    return ConstantOp.create(result_types=[found], properties={"value": DenseElementsAttr.from_values(found, [0])})


def _places(block: Block) -> dict[Operation, tuple[int, Phase]]:
    """Return the layer and phase of ops, and erase the sums over microbatches, on which updates depend."""
    found: dict[Operation, tuple[int, Phase]] = {}
    updates, constant = set[Operation](), set[Operation]()  # what depends on a sum, and what depends on no argument
    ops = [op for op in ops_in(block) if not is_terminator(op)]
    for op in ops:
        layer, phase = _place(op)
        owners = {value.owner for value in used_from_outside(op)}
        if owners <= constant:
            constant.add(op)  # layers may share it
            continue
        is_update, is_sum = not owners.isdisjoint(updates), isinstance(op, AllReduceOp)
        is_known = layer != _ANYWHERE
        needs_others = is_update and is_known and (is_sum or phase is Phase.FORWARD)
        if needs_others or (collective_kind(type(op)) is not None and not is_sum):
            raise SdyError(_needs_all(op))
        if is_update or (is_sum and is_known):
            updates.add(op)
        if not is_sum and (is_known or is_update):
            found[op] = layer, Phase.UPDATE if is_update else phase
    for op in of_class(ops, AllReduceOp):
        for result, operand in zip(op.results, op.inputs, strict=True):
            replace_uses(result, operand)
        erase(op)
    return found


def _place(op: Operation) -> tuple[int, Phase]:
    """Return the layer and the phase of an op: `_ANYWHERE` if it depends on arguments alone."""
    match op.location:
        case FileLineColLoc(filename=StringAttr(data=name), line=line, column=column) if name == _PLACES:
            return line.data, Phase(column.data)
        case _:
            return _ANYWHERE, Phase.FORWARD


def _needs_all(op: Operation) -> Diagnostic:
    message = f"{op.name} needs the results of all microbatches, so the batch cannot be divided"
    hint = "the batch must be the first dim of what layers take from those before, and each element independent"
    return Diagnostic("SDY-T264", message, hint=hint)
