"""Send fewer bytes: shard ops differently, reduce later, gather less. Every value stays the same.

    before  %0 = stablehlo.dot_general %x, %w   partial along "y"         after  %0 = stablehlo.dot_general %x, %w
            %1 = sdy.all_reduce {"y"} %0                                         %1 = stablehlo.dot_general %z, %v
            %2 = stablehlo.dot_general %z, %v   partial along "y"                %2 = stablehlo.add %0, %1
            %3 = sdy.all_reduce {"y"} %2                                         %3 = sdy.all_reduce {"y"} %2
            %4 = stablehlo.add %1, %3

The rewrites and their switches are described in `sdy.partitioner.layout_search.transfer`. Arguments and results of the
main function keep their shardings, no device computes more of a dot or a convolution than before, and values are
gathered again if memory would grow. A module with several meshes, or with partial values, is left unchanged.
Requires and ensures: full explicit reshards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, Severity
from sdy.dialects.ir.context import emit
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.meshes import meshes_of
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import NumberedDigits
from sdy.partitioner.layout_search.layout import MAX_DIGITS
from sdy.partitioner.layout_search.moves import EPSILON
from sdy.partitioner.layout_search.search import Saving, search
from sdy.partitioner.layout_search.state import MemoryBudget, SearchState, Sent, mean_cost
from sdy.partitioner.layout_search.transfer import Patterns
from sdy.passes.export.optimize.communication_edges import ValueEdge
from sdy.passes.export.optimize.communication_graph import GraphReader, ModuleGraph, UnsupportedShardingError
from sdy.passes.export.optimize.gather_again import Relief, gather_again, local_peak
from sdy.passes.export.optimize.write_layouts import Writer
from sdy.passes.export.reshards.equal_reshards import share_equal_reshards

MAX_MEMORY = 1.05  # relative to the peak before, if it can be reached
MAX_PEAK = 1.1  # relative to the peak before
HELD_BYTE_COSTS = (1e-4, 0.01, 0.03, 0.1, 0.3, 1.0)  # bytes sent per byte held, in turn until the memory suffices


@dataclass(frozen=True, slots=True)
class _Rewritten:
    """A rewritten module: the bytes that the search counts as sent, what gathers are repeated, and the remarks."""

    sent: float
    relief: Relief
    savings: list[Saving]
    remarks: list[Diagnostic]

    def is_within(self, peak: float) -> bool:
        """Return whether no device holds more than `peak` bytes, and none sends more than before."""
        return self.relief.peak_bytes <= peak and self.relief.sent <= _bytes_saved(self.savings) + EPSILON


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

        If the result exceeds the memory limit, or sends more than before, since values are gathered again, the search
        is repeated with higher and higher costs of the bytes that devices hold until a result is within the limit, and
        once without changing the shardings of ops. The result within the limit that sends less is kept; if
        there is none, the module stays unchanged except that equal reshards are shared.
        """
        share_equal_reshards(op)
        meshes = {name: mesh for name, mesh in meshes_of(op).items() if mesh.device_count > 1}
        if len(meshes) != 1:
            return
        ((name, mesh),) = meshes.items()
        original = copy_with_regions(op)
        peak = local_peak(op)
        found = self._rewrite(op, name, mesh, MemoryBudget(MAX_MEMORY * peak, HELD_BYTE_COSTS[0]))
        if found is None:
            return
        if not found.is_within(MAX_PEAK * peak):
            found = self._least_within(peak, op, original, name, mesh)
        for remark in () if found is None else found.remarks:
            emit(ctx, remark)

    def _least_within(
        self, peak: int, module: ModuleOp, original: ModuleOp, name: str, mesh: Mesh
    ) -> _Rewritten | None:
        """Rewrite a module in the ways that `apply` describes, and keep the best result, or the original.

        `peak` has the peak bytes of the original.
        """
        kept, rewritten = original, None
        in_place = replace(self, recut=False)
        for attempt, cost in (*((self, cost) for cost in HELD_BYTE_COSTS[1:]), (in_place, HELD_BYTE_COSTS[0])):
            if attempt is self and rewritten is not None:
                continue  # bytes held cost more than in that result, so the search would send more to hold fewer
            _restore(module, original)
            found = attempt._rewrite(module, name, mesh, MemoryBudget(MAX_MEMORY * peak, cost))
            if found is None or not found.is_within(MAX_PEAK * peak):
                continue
            if rewritten is None or found.sent < rewritten.sent:
                kept, rewritten = copy_with_regions(module), found
        _restore(module, kept)
        return rewritten

    def _rewrite(self, module: ModuleOp, name: str, mesh: Mesh, memory: MemoryBudget) -> _Rewritten | None:
        """Search once and rewrite the module; None if the search does not support it."""
        read = _read(module, mesh)
        if read is None:
            return None
        state = self._state(read, memory)
        savings = search(state)
        if _bytes_saved(savings) < -EPSILON:  # fewer collectives would send more bytes in all
            read = GraphReader(module, read.digits).read()
            state = SearchState(read.graph, read.digits, self._patterns(), memory)
            savings = search(state)
        remarks = [_remark(read, saving) for saving in savings]  # before the ops that they name change
        Writer(read, state, name).write()
        relief = gather_again(module, memory.max_held_bytes)
        return _Rewritten(sum(state.costs) + relief.sent, relief, savings, remarks)

    def _state(self, read: ModuleGraph, memory: MemoryBudget) -> SearchState:
        """Return the initial state; the fixed cost of a collective depends on the bytes that the program sends now."""
        state = SearchState(read.graph, read.digits, self._patterns(), memory)
        step = max(self.step_bytes, round(self.step_percent / 100 * mean_cost(state)))
        return SearchState(read.graph, read.digits, self._patterns(step), memory)

    def _patterns(self, step_bytes: int = 0) -> Patterns:
        return Patterns(self.recut, self.delay, self.scatter, self.share, self.reuse, step_bytes)


def _bytes_saved(savings: Sequence[Saving]) -> float:
    return sum(each.saved.bytes for each in savings)


def _restore(module: ModuleOp, original: ModuleOp) -> None:
    """Replace the ops of a module by those of `original`."""
    module.detach_region(module.body)
    module.add_region(copy_with_regions(original).detach_region(0))


def _read(module: ModuleOp, mesh: Mesh) -> ModuleGraph | None:
    """Return the graph of a module, with axes split into prime factors if those are few; None if unsupported.

    On a large mesh there are too many combinations of sub-axes, and hardly any is better.
    """
    fine = NumberedDigits.of(mesh)
    coarse = (NumberedDigits.full_axes(mesh),) if len(fine.refs) > MAX_DIGITS else ()
    for digits in (*coarse, fine):
        try:
            return GraphReader(module, digits).read()
        except UnsupportedShardingError:
            continue
    return None


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
