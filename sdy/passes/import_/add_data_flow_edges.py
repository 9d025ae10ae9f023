"""Insert a data-flow edge at every value that a region op passes on, so that propagation works through the op.

    before  %0 = stablehlo.while(...) ...            %1 = stablehlo.negate %0
    after   %0 = stablehlo.while(...) ...            %1 = sdy.data_flow_edge %0    %2 = stablehlo.negate %1

Requires: a module without data-flow edges. Source: docs/spec/04, 2.7.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from sdy.dialects.data_flow import DATA_FLOW_OPS, DataFlowOp, argument_owners, has_data_flow_edges, result_owners
from sdy.dialects.ir.fast_ops import make_op, redirect_uses
from sdy.dialects.ir.walk import post_order
from sdy.dialects.sdy.attrs import TensorShardingAttr
from sdy.dialects.sdy.ops import DataFlowEdgeOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
from sdy.passes.rewriting.insertion import after_definition, location_of
from sdy.passes.rewriting.op_order import keep_order, op_order


class AddDataFlowEdgesPass(ModulePass):
    """Insert an edge at every owner of static shape."""

    name = "sdy-add-data-flow-edges"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit region ops, inner ops first."""
        if not op_order(op).has_any(DATA_FLOW_OPS):
            keep_order(op)
            return
        for inner in post_order(op):
            if has_data_flow_edges(inner):
                add_edges(inner)


def add_edges(op: DataFlowOp) -> None:
    """Insert an edge at each owner of `op`, in reverse, so that the edges end up in order."""
    for owner in (*reversed(argument_owners(op)), *reversed(result_owners(op))):
        if static_shape(owner.type) is not None:
            _add_edge(owner)


def _add_edge(owner: SSAValue) -> None:
    sharding = sharding_of(owner)
    properties: dict[str, Attribute] = {} if sharding is None else {"sharding": TensorShardingAttr(sharding)}
    uses = tuple(owner.uses)
    edge = make_op(DataFlowEdgeOp, (owner,), (owner.type,), properties, {}, location_of(owner))
    Rewriter.insert_op(edge, after_definition(owner))
    redirect_uses(owner, uses, edge.results[0])
