"""Put callers before the functions that they call. Source: docs/spec/04, 2.13."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.passes.rewriting.call_graph import callees_first
from sdy.passes.rewriting.op_order import keep_order


@dataclass(frozen=True)
class PreOrderFuncsPass(ModulePass):
    """Sort the functions that have a body, behind everything else in the module."""

    name = "sdy-pre-order-funcs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Move each one to the end, callers first."""
        wanted = list(reversed(callees_first(op)))
        if list(op.ops)[-len(wanted) :] == wanted:
            keep_order(op)
            return
        for func in wanted:
            func.detach()
            op.body.block.add_op(func)
