"""Copy the result shardings of each function to its calls that have no shardings.

    before  %0 = call @f(%x)        func @f(...) -> (tensor<4xf32> {sdy.sharding = <@m, [{"x"}]>})
    after   %0 = call @f(%x) {sdy.sharding = [<@m, [{"x"}]>]}

Source: docs/spec/04, 2.3.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.passes import ModulePass

from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.shardings import SHARDING, function_result_shardings, set_result_shardings
from sdy.passes.rewriting.call_graph import callee_of
from sdy.passes.rewriting.op_order import keep_order, op_order


class PropagateShardingFromFuncToCallPass(ModulePass):
    """Copy result shardings from functions to their calls."""

    name = "sdy-propagate-sharding-from-func-to-call"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit every call without shardings."""
        functions, meshes = functions_of(op), meshes_of(op)
        for call in op_order(op).of(CallOp):
            if SHARDING not in call.attributes:
                shardings = function_result_shardings(callee_of(call, functions), meshes)
                set_result_shardings(call, shardings or ())
        keep_order(op)
