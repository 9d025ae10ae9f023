"""Move the shardings of edges between calls and functions to arguments and calls, and remove the edges.

    before  func @f(%p) { %0 = sdy.func_data_flow_edge %p {sdy.sharding = [<@m, [{"x"}]>]}  tanh %0 }
    after   func @f(%p {sdy.sharding = <@m, [{"x"}]>}) { tanh %p }

Source: docs/spec/04, 4.3.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.dialects.ir.walk import ops_of
from sdy.dialects.sdy.ops import FuncDataFlowEdgeOp
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.model.sharding_update import fully_open_like
from sdy.passes.rewriting.insertion import replace_by


class SinkFuncDataFlowEdgesPass(ModulePass):
    """Remove edges across calls; their shardings move to arguments and calls."""

    name = "sdy-sink-func-data-flow-edges"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Remove the edges; one without a sharding gives its target a fully open one."""
        for edge in ops_of(op, FuncDataFlowEdgeOp):
            found, before = sharding_of(edge.result), sharding_of(edge.input)
            if found is not None:
                set_sharding(edge.input, found)
            elif before is not None:
                set_sharding(edge.input, fully_open_like(before))
            replace_by(edge, edge.input)
