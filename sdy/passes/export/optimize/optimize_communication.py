"""Send fewer bytes: shard ops differently, reduce later, gather less. Every value stays the same.

    before  %0 = stablehlo.dot_general %x, %w   partial along "y"         after  %0 = stablehlo.dot_general %x, %w
            %1 = sdy.all_reduce {"y"} %0                                         %1 = stablehlo.dot_general %z, %v
            %2 = stablehlo.dot_general %z, %v   partial along "y"                %2 = stablehlo.add %0, %1
            %3 = sdy.all_reduce {"y"} %2                                         %3 = sdy.all_reduce {"y"} %2
            %4 = stablehlo.add %1, %3

The rewrites and their switches are described in `sdy.partitioner.layout_search.transfer`. Arguments and results of the
main function keep their shardings, no device computes more of a dot or a convolution than before, and what devices hold
more is worth the bytes that it saves. A module with several meshes is left unchanged, and values that are partial.
Requires and ensures: full explicit reshards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import inf

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from sdy.cost.memory import MOST_HELD, is_worth_its_memory, peak
from sdy.diagnostics.diagnostic import Diagnostic, Severity
from sdy.dialects.ir.context import emit
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.collectives import AllReduceOp
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sharded_types import local_type, tensor_bytes
from sdy.dialects.shardings import sharding_of
from sdy.model.axis_list import sharded_size
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import NumberedDigits, digits_of
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.partitioner.layout_search.layout import MAX_DIGITS
from sdy.partitioner.layout_search.moves import EPSILON
from sdy.partitioner.layout_search.search import Saving, search
from sdy.partitioner.layout_search.state import MemoryBudget, SearchState, Sent, mean_cost
from sdy.partitioner.layout_search.transfer import Patterns
from sdy.passes.export.optimize.communication_edges import ValueEdge
from sdy.passes.export.optimize.communication_graph import GraphReader, ModuleGraph
from sdy.passes.export.optimize.write_layouts import Writer
from sdy.passes.export.reshards.equal_reshards import share_equal_reshards

MAX_MEMORY = 1.05  # of the peak before, for the operands and results of one op
HELD_BYTE_COSTS = (1e-4, 0.01, 0.03, 0.1, 0.3, 1.0)  # bytes sent per byte held, in turn until the memory suffices


@dataclass(frozen=True, slots=True)
class _Rewritten:
    """A rewritten module: the bytes that the search counts as sent, the peak, and the remarks.

    `is_cheaper`: with the fixed costs of collectives, as the search minimizes it.
    """

    sent: float
    is_cheaper: bool
    peak: int
    remarks: list[Diagnostic]

    def is_worth_its_memory(self, sent: Callable[[], float], peak: int) -> bool:
        """Return whether it saves enough of the bytes `sent` for what a device holds more than `peak` bytes."""
        fits = self.peak <= MOST_HELD * peak
        return self.is_cheaper and (fits or is_worth_its_memory(self.sent, self.peak, sent(), peak))

    def price(self, peak: int) -> float:
        """Return the product of the bytes sent and held; a little more than `peak` bytes cost nothing."""
        return self.sent * max(self.peak, MOST_HELD * peak)


@dataclass(frozen=True)
class OptimizeCommunicationPass(ModulePass):
    """Search for shardings of the ops of a module that send fewer bytes."""

    name = "sdy-optimize-communication"

    recut: bool = True  # shard ops differently: gather the smaller operand instead of reducing the larger result
    delay: bool = True  # add and multiply partial values, and reduce them later
    scatter: bool = True  # reduce-scatter values that are later sharded or gathered
    share: bool = True  # devices with the same partial values each reduce a slice
    reuse: bool = True  # gather once, and slice other shardings from the result
    step_percent: int = 10  # fixed cost of a collective, relative to the average cost of a value sent
    step_bytes: int = 192  # least fixed cost of a collective

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Search, starting from the current shardings, and rewrite the module.

        If devices hold more than a little more than before, the search is repeated without changing the shardings of
        ops, and with higher and higher costs of the bytes that they hold until they do not. Where values are still sent
        several times, another search starts from the best layouts of all ops together; its result counts if devices
        hold little more. Of the results that are worth their memory, that with the least product of bytes sent and held
        is kept; if there is none, the module stays unchanged except that equal reshards are shared.
        """
        share_equal_reshards(op)
        meshes = {name: mesh for name, mesh in meshes_of(op).items() if mesh.device_count > 1}
        if len(meshes) != 1:
            return
        ((name, mesh),) = meshes.items()
        sent, held = cache(partial(_sent, op, mesh)), _local_peak(op)
        best, kept = None, op
        for found, module in self._attempts(op, name, mesh, held):
            if found.is_worth_its_memory(sent, held) and (best is None or found.price(held) < best.price(held)):
                best, kept = found, module
        if best is not None:
            op.detach_region(op.body)
            op.add_region(kept.detach_region(kept.body))
            for remark in best.remarks:
                emit(ctx, remark)

    def _attempts(self, op: ModuleOp, name: str, mesh: Mesh, held: int) -> Iterator[tuple[_Rewritten, ModuleOp]]:
        """Yield rewritten copies of a module of which a device holds `held` bytes at most."""
        first, *others = ((self, cost) for cost in HELD_BYTE_COSTS)
        in_place = replace(self, recut=False), HELD_BYTE_COSTS[0]
        best, sends_often = None, False
        for attempt, cost in (first, in_place, *others):
            module = copy_with_regions(op)
            read = _read(module, mesh)
            state = attempt._state(read, MemoryBudget(MAX_MEMORY * held, cost))
            found = attempt._rewrite(module, name, read, state, [])
            yield found, module
            if best is None or found.price(held) < best.price(held):
                values = zip(state.graph.values, state.costs, strict=True)
                best, sends_often = found, any(cost and value.times > 1 for value, cost in values)
            if attempt is self and found.peak <= MOST_HELD * held:
                break
        assert best is not None
        if not self.recut or not sends_often:
            return
        module = copy_with_regions(op)
        read = _read(module, mesh)
        state = self._state(read, MemoryBudget(MAX_MEMORY * held, HELD_BYTE_COSTS[0]))
        move = _joint_saving(state)
        if move is not None and state.sent(range(len(state.costs))).bytes < best.sent:
            found = self._rewrite(module, name, read, state, [move])
            if found.peak <= MOST_HELD * best.peak:
                yield found, module

    def _rewrite(
        self, module: ModuleOp, name: str, read: ModuleGraph, state: SearchState, moved: Sequence[Saving]
    ) -> _Rewritten:
        """Search once after the moves `moved`, and rewrite the module."""
        savings = [*moved, *search(state)]
        if _in_all(savings).bytes < -EPSILON:  # fewer collectives would send more bytes
            read = GraphReader(module, read.digits).read()
            state = SearchState(read.graph, read.digits, self._patterns(), state.resources.memory)
            savings = search(state)
        remarks = [_remark(read, saving) for saving in savings]  # before the ops that they name change
        Writer(read, state, name).write()
        sent, saved = state.sent(range(len(state.costs))).bytes, _in_all(savings)
        is_cheaper = saved.bytes + saved.collectives * state.patterns.step_bytes > -EPSILON
        return _Rewritten(sent, is_cheaper, _local_peak(module), remarks)

    def _state(self, read: ModuleGraph, memory: MemoryBudget) -> SearchState:
        """Return the initial state; the fixed cost of a collective depends on the bytes that the program sends now."""
        state = SearchState(read.graph, read.digits, self._patterns(), memory)
        step = max(self.step_bytes, round(self.step_percent / 100 * mean_cost(state)))
        return SearchState(read.graph, read.digits, self._patterns(step), memory)

    def _patterns(self, step_bytes: int = 0) -> Patterns:
        return Patterns(self.recut, self.delay, self.scatter, self.share, self.reuse, step_bytes)


def _joint_saving(state: SearchState) -> Saving | None:
    """Change the layouts of all ops together; return what that saves, or None if nothing changes."""
    from sdy.partitioner.layout_search.joint_move import joint_move  # it imports NumPy, which few programs need

    move, every = joint_move(state), range(len(state.costs))
    if not move:
        return None
    before = state.sent(every)
    state.apply(move)
    return Saving(min(move), move, before.minus(state.sent(every)))


def _local_peak(module: ModuleOp) -> int:
    """Return the peak bytes of one device, for a module on global tensors."""
    meshes = meshes_of(module)

    @cache
    def shard_bytes(value_type: Attribute, sharding: TensorSharding | None) -> int:
        mesh = None if sharding is None else resolve_mesh(sharding.mesh, meshes)
        if sharding is None or mesh is None:
            return tensor_bytes(value_type)
        shard = local_type(value_type, sharding, mesh)
        return 0 if shard is None else tensor_bytes(shard)

    def bytes_of(value: SSAValue) -> int:
        """Return the bytes of one shard of a value; 0 for a sum of which the next reshard keeps a part."""
        size = shard_bytes(value.type, sharding_of(value))
        reduction = value.owner
        use = value.get_user_of_unique_use() if isinstance(reduction, AllReduceOp) else None
        if not isinstance(reduction, AllReduceOp) or not isinstance(use, ReshardOp):
            return size
        mesh = resolve_mesh(reduction.out_sharding.data.mesh, meshes)
        assert mesh is not None  # verified
        parts = sharded_size(reduction.reduction_axes.data, mesh)
        is_scattered = shard_bytes(use.result.type, sharding_of(use.result)) * parts == size
        return 0 if is_scattered else size

    return peak(module, bytes_of, is_compiled=False)


def _sent(module: ModuleOp, mesh: Mesh) -> float:
    """Return the bytes that a module sends as it is: each value is reduced whole, and resharded for each use."""
    read, memory = _read(module, mesh), MemoryBudget(inf, 0.0)
    state = SearchState(read.graph, read.digits, Patterns(scatter=False, share=False, reuse=False), memory)
    return state.sent(range(len(state.costs))).bytes


def _in_all(savings: Sequence[Saving]) -> Sent:
    return Sent(sum(each.saved.bytes for each in savings), sum(each.saved.collectives for each in savings))


def _read(module: ModuleOp, mesh: Mesh) -> ModuleGraph:
    """Return the graph of a module, with axes split into prime factors if those are few, or are needed.

    On a large mesh there are too many combinations of sub-axes, and hardly any is better. An axis of six devices may be
    split into two by three or three by two: as more shardings need it.
    """
    fine = NumberedDigits.of(mesh)
    coarse = [NumberedDigits.full_axes(mesh)] if len(fine.refs) > MAX_DIGITS else []
    reads: list[ModuleGraph] = []
    for digits in (*coarse, fine):
        reads.append(GraphReader(module, digits).read())
        if not reads[-1].unread:
            return reads[-1]
    others = digits_of([ref for sharding in reads[-1].unread for ref in sharding.axis_refs()], mesh)
    if others is not None:
        reads.append(GraphReader(module, others).read())
    return min(reads, key=lambda read: len(read.unread))


def _saved(saved: Sent) -> str:
    """Return text such as `3,072 bytes less in 1 collective more`. A move that saves neither saves memory."""
    count, is_equal = abs(saved.collectives), not round(saved.bytes)
    if is_equal and not count:
        return "as much, and holds less memory"
    less = "as much" if is_equal else f"{abs(saved.bytes):,.0f} bytes {'less' if saved.bytes > 0 else 'more'}"
    fewer = f" in {count:,} collective{'s' * (count > 1)} {'fewer' if saved.collectives > 0 else 'more'}"
    return less + fewer * bool(count)


def _remark(read: ModuleGraph, saving: Saving) -> Diagnostic:
    first = read.ops[saving.node]
    op = first.sources[0].op if isinstance(first, ValueEdge) else first
    others = f" and {len(saving.move) - 1} more ops" if len(saving.move) > 1 else ""
    message = f"{op.name}{others}: resharded, so that each device sends {_saved(saving.saved)}"
    return Diagnostic("SDY-L120", message, span_of(op), severity=Severity.REMARK)
