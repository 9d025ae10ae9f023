"""Move the shardings of data-flow edges to their region ops, and remove the edges.

    before  %0 = stablehlo.optimization_barrier %a    %1 = sdy.data_flow_edge %0 sharding=<@m, [{"x"}]>
    after   %0 = stablehlo.optimization_barrier %a {sdy.sharding = [<@m, [{"x"}]>]}

Source: docs/spec/04, 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.data_flow import DataFlowOp, argument_owners, edge_of_owner, has_data_flow_edges, result_owners
from sdy.dialects.sdy.attrs import (
    BLOCK_ARG_EDGES,
    BLOCK_ARG_ORIGINS,
    EDGES,
    ORIGINS,
    RESULT_EDGES,
    RESULT_ORIGINS,
    TensorShardingPerValueAttr,
)
from sdy.dialects.sdy.ops import DataFlowEdgeOp
from sdy.dialects.sdy.regions import ManualComputationOp, ShardedBodyOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import ValueShardings, set_result_shardings
from sdy.model.sharding_update import fully_open, with_manual_axes
from sdy.passes.rewriting.insertion import replace_by
from sdy.passes.rewriting.op_order import keep_order_without, op_order


@dataclass(frozen=True)
class SinkDataFlowEdgesPass(ModulePass):
    """Remove data-flow edges; their shardings move to the region ops."""

    name = "sdy-sink-data-flow-edges"

    sink_debug_sharding_origins: bool = False
    sink_debug_propagation_edge_sharding: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit outer region ops first; all edges of an op are read before any is erased."""
        erased: list[Operation] = []
        for inner in op_order(op).ops:
            if has_data_flow_edges(inner):
                _sink(inner)
                if self.sink_debug_sharding_origins:
                    _sink_records(inner, ORIGINS, BLOCK_ARG_ORIGINS, RESULT_ORIGINS)
                if self.sink_debug_propagation_edge_sharding:
                    _sink_records(inner, EDGES, BLOCK_ARG_EDGES, RESULT_EDGES)
            elif type(inner) is DataFlowEdgeOp:
                replace_by(inner, inner.input)
                erased.append(inner)
        keep_order_without(op, erased)


def _sink(op: DataFlowOp) -> None:
    arguments, results = edge_shardings(argument_owners(op)), edge_shardings(result_owners(op))
    if arguments is not None and isinstance(op, ManualComputationOp | ShardedBodyOp):
        if isinstance(op, ManualComputationOp):
            axes = op.manual_axes.data
            pairs = zip(op.in_shardings.data, arguments, strict=True)
            arguments = tuple(with_manual_axes(outer, inner, axes) for outer, inner in pairs)
        op.in_shardings = TensorShardingPerValueAttr(arguments)
    if results is not None:
        if isinstance(op, ManualComputationOp | ShardedBodyOp):
            op.out_shardings = TensorShardingPerValueAttr(results)
        else:
            set_result_shardings(op, results)


def _sink_records(op: DataFlowOp, name: str, of_arguments: str, of_results: str) -> None:
    """Collect the records `name` of the edges of `op`. An edge without a record leaves no gap, as in Shardy."""
    for collected, owners in ((of_arguments, argument_owners(op)), (of_results, result_owners(op))):
        edges = (edge_of_owner(owner) for owner in owners)
        records = (None if edge is None else edge.attributes.get(name) for edge in edges)
        op.attributes[collected] = ArrayAttr(record for record in records if record is not None)


def edge_shardings(owners: Sequence[SSAValue]) -> ValueShardings | None:
    """Return the shardings of the owners' edges, fully open where missing; None if all are missing."""
    edges = [edge_of_owner(owner) for owner in owners]
    found = [None if edge is None or edge.sharding is None else edge.sharding.data for edge in edges]
    mesh = next((sharding.mesh for sharding in found if sharding is not None), None)
    if mesh is None:
        return None
    return tuple(
        sharding or fully_open(mesh, rank_of_type(owner.type)) for sharding, owner in zip(found, owners, strict=True)
    )
