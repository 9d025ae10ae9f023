"""Insert a data-flow edge at each function argument and at each call result, so that propagation works across calls.

    before  %0 = call @f(%x)                                 func @f(%p) { tanh %p }
    after   %0 = call @f(%x)  %1 = sdy.func_data_flow_edge %0   func @f(%p) { %2 = sdy.func_data_flow_edge %p  tanh %2 }

Source: docs/spec/04, 2.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.sdy.ops import FuncDataFlowEdgeOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import set_result_shardings, sharding_of
from sdy.passes.rewriting.insertion import after_definition, insert, location_of, redirect_other_uses
from sdy.passes.rewriting.op_order import op_order


class AddFuncDataFlowEdgesPass(ModulePass):
    """Insert data-flow edges at function arguments and call results."""

    name = "sdy-add-func-data-flow-edges"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit the arguments of all functions except the main one, then the results of all calls."""
        main, calls = main_function(op), op_order(op).of(CallOp)
        for func in functions_of(op).values():
            if func is not main and func.body.blocks:
                _add_edges(func.args)
        for call in calls:
            _add_edges(call.results)


def _add_edges(values: Iterable[SSAValue]) -> None:
    """Insert an edge at each value of static shape, in reverse, so that the edges end up in order."""
    for value in reversed([value for value in values if static_shape(value.type) is not None]):
        edge = FuncDataFlowEdgeOp.create(operands=[value], result_types=[value.type])
        sharding = sharding_of(value)
        if sharding is not None:
            set_result_shardings(edge, (sharding,))
        insert(edge, after_definition(value), location_of(value))
        redirect_other_uses(value, edge.result)
