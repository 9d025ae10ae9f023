"""Replace composites by calls of their decompositions.

before  %0 = stablehlo.composite "my.gelu" %x {decomposition = @gelu} : (tensor<4xf32>) -> tensor<4xf32>
after   %0 = call @gelu(%x) : (tensor<4xf32>) -> tensor<4xf32>
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.passes import ModulePass

from sdy.dialects.ir.fast_ops import make_op, operands_of
from sdy.dialects.stablehlo.calls import CompositeOp
from sdy.passes.rewriting.insertion import replace_op
from sdy.passes.rewriting.op_order import op_order


@dataclass(frozen=True)
class CompositeToCallPass(ModulePass):
    """Replace composites by calls of their decompositions, except those named in `except`."""

    name = "stablehlo-legalize-composite-to-call"

    except_: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace the composites; their discardable attributes, such as a sharding, move to the call."""
        for composite in op_order(op).of(CompositeOp):
            if composite.composite_name.data in self.except_:
                continue
            types, callee = composite.result_types, {"callee": composite.decomposition}
            call = make_op(CallOp, operands_of(composite), types, callee, composite.attributes, composite.location)
            replace_op(composite, call)
