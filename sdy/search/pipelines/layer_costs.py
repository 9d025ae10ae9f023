"""The time and the memory of the first, a middle and the last layer of a pipeline on the mesh of a stage.

The sharding search chooses the shardings of all three together. Each phase of a layer is then a program of its own, as
the fragments of a pipeline are, whose arguments and results have these shardings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from sdy.compile.compiled import compiled
from sdy.compile.options import CompileOptions
from sdy.compile.origin import Origin
from sdy.compile.signature import FlatSignature
from sdy.cost.hardware import Hardware
from sdy.dialects.facts.traits import is_terminator
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.symbols import main_block, main_function
from sdy.dialects.ir.walk import ancestor_in, ops_in
from sdy.dialects.sharded_types import local_type, tensor_bytes
from sdy.dialects.shardings import set_function_result_sharding, set_sharding, sharding_of
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.passes.rewriting.structural_hash import producers, used_from_outside
from sdy.search.pipelines.extraction import Extraction
from sdy.search.pipelines.one_microbatch import OneMicrobatch, Phase
from sdy.search.planned_shardings import PlannedShardings, planned_shardings
from sdy.search.search_networks import SearchNetworks
from sdy.search.search_request import Goal, SearchRequest
from sdy.search.searched_module import MESH_NAME, prepared_module, without_shardings
from sdy.search.solutions import Solution


@dataclass(frozen=True, slots=True)
class PhaseCost:
    """The seconds of a phase of a layer, and the bytes that it needs beside its operands and results."""

    seconds: float = 0.0
    scratch: int = 0


@dataclass(frozen=True, slots=True)
class LayerCost:
    """The cost of a layer on each device of the mesh of its stage. Sizes are in bytes.

    `input_gradients` is the part of the backward phase that the layer before waits for. `held` are the arguments that
    stay on the device, `gradients` those of weights, which are summed over the microbatches, `kept` what the backward
    phase needs of the forward phase of its microbatch, beside the input, and `batch` its part of the arguments.
    `sent` are the values that go to the next layer, and `sent_back` those that go to the one before.
    """

    forward: PhaseCost
    backward: PhaseCost
    input_gradients: PhaseCost
    update: PhaseCost
    held: int
    batch: int
    gradients: int
    kept: int
    sent: tuple[int, ...]
    sent_back: tuple[int, ...]

    def seconds(self, microbatches: int) -> float:
        """Return the seconds of a microbatch with its part of the update."""
        return self.forward.seconds + self.backward.seconds + self.update.seconds / microbatches


@dataclass(frozen=True)
class Layout:
    """Shardings of the program of one microbatch on the mesh of a stage. `solution` is that of the cost network."""

    mesh: Mesh
    module: ModuleOp
    planned: PlannedShardings
    solution: Solution


@garbage_collection_paused()
def layout_on(
    program: OneMicrobatch, mesh: Mesh, hardware: Hardware, free_bytes: float, seconds: float
) -> Layout | None:
    """Return the best shardings on a mesh within `free_bytes`, as far as the search finds them in `seconds`."""
    module = without_shardings(program.module, mesh)
    searched = prepared_module(module).on(mesh, MESH_NAME)
    networks = SearchNetworks(module, searched, SearchRequest(hardware, hardware.hbm_bytes))
    objective = Goal.TIME.objectives()[0]
    _, network = networks.solver(objective, seconds)
    solution = networks.solution(objective, free_bytes, seconds)
    if solution is None:
        return None
    planned = planned_shardings(module, searched, network, solution.labels)
    return Layout(mesh, module, planned, solution)


def with_shardings_of(layout: Layout, program: OneMicrobatch) -> ModuleOp:
    """Return the program of a microbatch of any size with the shardings of a layout, op by op."""
    module = without_shardings(program.module, layout.mesh)
    block, other = main_block(module), main_block(layout.module)
    for argument, sharding in zip(block.args, layout.planned.arguments, strict=True):
        if sharding is not None:
            set_sharding(argument, sharding)
    for op, same in zip(ops_in(block), ops_in(other), strict=True):
        for result, of in zip(op.results, same.results, strict=True):
            sharding = layout.planned.inside.get(of)
            if sharding is not None:
                set_sharding(result, sharding)
    return module


@garbage_collection_paused()
def layer_costs(module: ModuleOp, program: OneMicrobatch, mesh: Mesh, hardware: Hardware) -> list[LayerCost]:
    """Return the costs of the first, the middle and the last layer of a module with shardings."""
    return [_Layer(module, program, mesh, hardware, layer).cost() for layer in range(3)]


@dataclass(slots=True)
class _Layer:
    module: ModuleOp
    program: OneMicrobatch
    mesh: Mesh
    hardware: Hardware
    layer: int
    _places: dict[Operation, tuple[int, Phase]] = field(default_factory=dict[Operation, tuple[int, Phase]])

    def cost(self) -> LayerCost:
        for op in ops_in(main_block(self.module)):
            location = op.location
            if isinstance(location, FileLineColLoc) and location.line.data in self.program.places:
                self._places[op] = self.program.places[location.line.data]
        forward, backward, update = (
            [op for op, at in self._places.items() if at == (self.layer, phase)] for phase in Phase
        )
        sent = [value for value in self._leaving(forward) if self._is_used(value, self.layer + 1, Phase.FORWARD)]
        sent_back = [value for value in self._leaving(backward) if self._is_used(value, self.layer - 1, Phase.BACKWARD)]
        kept = [value for value in self._leaving(forward) if self._is_used(value, self.layer, Phase.BACKWARD)]
        gradients = [value for value in self._leaving(backward) if self._is_used(value, self.layer, Phase.UPDATE)]
        needed = list(producers(sent_back, set(backward).__contains__))
        split = self._phase_cost(needed, []) if needed and len(needed) < len(backward) else None
        whole = self._phase_cost(backward, gradients)
        arguments = self._arguments([*forward, *backward, *update])
        return LayerCost(
            self._phase_cost(forward, []),
            whole,
            split or whole,
            self._phase_cost(update, []),
            self._bytes(each for each in arguments if each.index not in self.program.divided),
            self._bytes(each for each in arguments if each.index in self.program.divided),
            self._bytes(gradients),
            self._bytes(value for value in kept if value not in sent),
            tuple(map(self._bytes_of, sent)),
            tuple(map(self._bytes_of, sent_back)),
        )

    def _leaving(self, ops: Sequence[Operation]) -> list[SSAValue]:
        """Return the values that other phases or layers use, or that the program returns."""
        own = set(ops)
        return [
            result
            for op in ops
            for result in op.results
            if any(user not in own and (user in self._places or is_terminator(user)) for user in self._users(result))
        ]

    def _users(self, value: SSAValue) -> Iterator[Operation]:
        """Yield the ops of the main function that use a value, in their regions too."""
        return (ancestor_in(main_block(self.module), use.operation) for use in value.uses)

    def _is_used(self, value: SSAValue, layer: int, phase: Phase) -> bool:
        return any(self._places.get(user) == (layer, phase) for user in self._users(value))

    def _arguments(self, ops: Sequence[Operation]) -> list[BlockArgument]:
        used = dict.fromkeys(value for op in self._with_shared(ops) for value in used_from_outside(op))
        return [value for value in used if isinstance(value, BlockArgument)]

    def _with_shared(self, ops: Sequence[Operation]) -> list[Operation]:
        """Return ops with those that are computed wherever they are used, in order."""
        used = (value for op in ops for value in used_from_outside(op))
        found = {*ops, *producers(used, lambda op: op not in self._places)}
        return [op for op in ops_in(main_block(self.module)) if op in found]

    def _phase_cost(self, ops: Sequence[Operation], sums: Sequence[SSAValue]) -> PhaseCost:
        """Return the cost of ops as a program, which adds some of its results to those of earlier microbatches."""
        if not ops:
            return PhaseCost()
        found = compiled(self._extracted(ops, sums), Origin("", FlatSignature()), OPTIONS)
        cost, main = found.cost(self.hardware), main_function(found.local).function_type
        edges = sum(map(tensor_bytes, (*main.inputs, *main.outputs)))
        return PhaseCost(cost.seconds, max(0, cost.peak_bytes - edges))

    def _extracted(self, ops: Sequence[Operation], sums: Sequence[SSAValue]) -> ModuleOp:
        found = Extraction()
        for op in self._with_shared(ops):
            found.add(op)
        results = self._leaving(ops)
        for value in (each for each in results if each in sums):
            found.copies[value] = found.emit.binary(AddOp, found.copies[value], found.argument(value))
        module = found.module([found.copies[value] for value in results], self.mesh)
        for value, argument in zip(found.arguments, found.block.args, strict=True):
            set_sharding(argument, self._sharding(value))
        for index, value in enumerate(results):
            set_function_result_sharding(main_function(module), index, self._sharding(value))
        return module

    def _sharding(self, value: SSAValue) -> TensorSharding:
        rank = len(getattr(value.type, "get_shape", tuple)())
        return sharding_of(value) or fully_closed(MESH_NAME, rank)

    def _bytes(self, values: Iterable[SSAValue]) -> int:
        return sum(map(self._bytes_of, values))

    def _bytes_of(self, value: SSAValue) -> int:
        """Return the bytes of a value on one device."""
        shard = local_type(value.type, self._sharding(value), self.mesh)
        return 0 if shard is None else tensor_bytes(shard)


OPTIONS = CompileOptions(optimize_communication=False)
