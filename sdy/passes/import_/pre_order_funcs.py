"""Sort functions so that callers come before the functions that they call. Source: docs/spec/04, 2.13."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.passes.rewriting.call_graph import callees_first
from sdy.passes.rewriting.op_order import keep_order


class PreOrderFuncsPass(ModulePass):
    """Move the functions that have a body, callers first, after everything else in the module."""

    name = "sdy-pre-order-funcs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Move each function to the end, callers first."""
        callers_first = list(reversed(callees_first(op)))
        if list(op.ops)[-len(callers_first) :] == callers_first:
            keep_order(op)
            return
        for func in callers_first:
            func.detach()
            op.body.block.add_op(func)
