"""Send fewer bytes: shard ops differently, reduce later, gather less. Every value stays the same.

    before  %0 = stablehlo.dot_general %x, %w   partial along "y"         after  %0 = stablehlo.dot_general %x, %w
            %1 = sdy.all_reduce {"y"} %0                                         %1 = stablehlo.dot_general %z, %v
            %2 = stablehlo.dot_general %z, %v   partial along "y"                %2 = stablehlo.add %0, %1
            %3 = sdy.all_reduce {"y"} %2                                         %3 = sdy.all_reduce {"y"} %2
            %4 = stablehlo.add %1, %3

The rewrites and their switches are described in `sdy.partitioner.layout_search.patterns`. Arguments and results of the
main function keep their shardings, no device computes more of a dot or a convolution than before, and values are
gathered again if memory would grow. A module with several meshes, or with partial values, is left unchanged.
Requires and ensures: full explicit reshards.
"""

from __future__ import annotations

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
from sdy.partitioner.layout_search.layout import MAX_ATOMS, Atoms
from sdy.partitioner.layout_search.patterns import Patterns
from sdy.partitioner.layout_search.search import Saving, search
from sdy.partitioner.layout_search.state import SearchState, Sent, mean_cost
from sdy.passes.export.optimize.communication_edges import ValueEdge
from sdy.passes.export.optimize.communication_graph import GraphReader, ModuleGraph, UnsupportedShardingError
from sdy.passes.export.optimize.gather_again import gather_again, local_peak
from sdy.passes.export.optimize.write_layouts import Writer
from sdy.passes.export.reshards.equal_reshards import share_equal_reshards

MAX_MEMORY = 1.05  # relative to the peak before, if it can be reached
MAX_PEAK = 1.1  # relative to the peak before


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

        If the result exceeds the memory limit, the search keeps the shardings of ops; if it still does, the module
        stays unchanged except that equal reshards are shared.
        """
        share_equal_reshards(op)
        meshes = {name: mesh for name, mesh in meshes_of(op).items() if mesh.device_count > 1}
        if len(meshes) != 1:
            return
        ((name, mesh),) = meshes.items()
        plain = copy_with_regions(op)
        peak = local_peak(op)
        patterns = Patterns(self.recut, self.delay, self.scatter, self.share, self.reuse)
        for enabled in (patterns, replace(patterns, recut=False)):
            read = _read(op, mesh)
            if read is None:
                return
            state = self._state(read, enabled, MAX_MEMORY * peak)
            savings = search(state)
            remarks = [_remark(read, saving) for saving in savings]  # before the ops that they name change
            Writer(read, state, name).write()
            if gather_again(op, MAX_MEMORY * peak) <= MAX_PEAK * peak:
                for remark in remarks:
                    emit(ctx, remark)
                return
            _restore(op, plain)

    def _state(self, read: ModuleGraph, patterns: Patterns, max_held_bytes: float) -> SearchState:
        """Return the initial state; the fixed cost of a collective depends on the bytes that the program sends now."""
        state = SearchState(read.graph, read.atoms, patterns, max_held_bytes)
        step = max(self.step_bytes, round(self.step_percent / 100 * mean_cost(state)))
        return SearchState(read.graph, read.atoms, replace(patterns, step_bytes=step), max_held_bytes)


def _restore(module: ModuleOp, original: ModuleOp) -> None:
    """Replace the ops of a module by those of `original`."""
    module.detach_region(module.body)
    module.add_region(copy_with_regions(original).detach_region(0))


def _read(module: ModuleOp, mesh: Mesh) -> ModuleGraph | None:
    """Return the graph of a module, with axes split into prime factors if those are few; None if unsupported.

    On a large mesh there are too many combinations of sub-axes, and hardly any is better.
    """
    fine = Atoms.of(mesh)
    coarse = (Atoms.full_axes(mesh),) if len(fine.refs) > MAX_ATOMS else ()
    for atoms in (*coarse, fine):
        try:
            return GraphReader(module, atoms).read()
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
