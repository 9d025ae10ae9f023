"""Reshard the results of calls from the function's result shardings to those of the call.

    before  %0 = call @f(%x) {[<@m, [{"x"}]>]}          func @f(...) -> (tensor<4xf32> {<@m, [{"y"}]>})
    after   %0 = call @f(%x) {[<@m, [{"y"}]>]}    %1 = sdy.reshard %0 <@m, [{"x"}]>

Operands are handled by explicit reshards. Source: docs/spec/04, 4.15.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.shardings import (
    ValueShardings,
    function_result_shardings,
    result_shardings,
    set_result_shardings,
)
from sdy.model.equivalence import is_equivalent
from sdy.model.sharding_update import fully_closed_like
from sdy.passes.rewriting.call_graph import callee_of
from sdy.passes.rewriting.insertion import insert, redirect_other_uses
from sdy.passes.rewriting.op_order import keep_order, op_order


class InsertFuncCallReshardsPass(ModulePass):
    """Give calls the result shardings of their callees, and reshard their results."""

    name = "sdy-insert-func-call-reshards"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every call."""
        functions, meshes = functions_of(op), meshes_of(op)
        is_kept = True
        for call in op_order(op).of(CallOp):
            asked = result_shardings(call)
            given = function_result_shardings(callee_of(call, functions), meshes)
            if given is None and asked is not None:
                given = tuple(fully_closed_like(sharding) for sharding in asked)
            if given is not None:
                is_kept = not _reshard_results(call, given, asked) and is_kept
        if is_kept:
            keep_order(op)


def _reshard_results(call: CallOp, actual: ValueShardings, expected: ValueShardings | None) -> bool:
    """Give the results the sharding `actual` and reshard them to `expected`; return whether any was resharded."""
    inserted = False
    for index, result in enumerate(call.results):
        wanted = expected[index] if expected else None
        if not is_equivalent(actual[index], wanted):
            needed = wanted if wanted is not None else fully_closed_like(actual[index])
            after = insert(ReshardOp(result, needed), InsertPoint.after(call), call.location)
            redirect_other_uses(result, after.result)
            inserted = True
    set_result_shardings(call, actual)
    return inserted
