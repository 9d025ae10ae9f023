"""Remove the locations of all ops and block arguments, as MLIR's pass of this name does.

    before  %0 = stablehlo.tanh %a : tensor<8xf32> loc("train.py":20:4)
    after   %0 = stablehlo.tanh %a : tensor<8xf32> loc(unknown)

Ensures: diagnostics of later passes name no line.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.passes import ModulePass

from sdy.dialects.ir.walk import blocks_of, op_and_nested_ops
from sdy.passes.rewriting.op_order import keep_order


@dataclass(frozen=True)
class StripDebugInfoPass(ModulePass):
    """Remove the locations of all ops and block arguments."""

    name = "strip-debuginfo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Give every op and every block argument an unknown location."""
        for each in op_and_nested_ops(op):
            each.location = UnknownLoc()
            for block in blocks_of(each):
                for argument in block.args:
                    argument.location = UnknownLoc()
        keep_order(op)
