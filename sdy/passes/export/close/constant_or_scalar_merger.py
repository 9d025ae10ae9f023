"""Merge what the splitter duplicated: equal constants, and equal broadcasts of a scalar, in one region.

    before  %0 = sdy.constant dense<1.0>  %1 = sdy.constant dense<1.0>     with equal shardings
    after   %0 = sdy.constant dense<1.0>

Source: docs/spec/04, 4.1.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from sdy.dialects.ir.fast_ops import nth_result, operands_of
from sdy.dialects.sdy.ops import ConstantOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp
from sdy.dialects.stablehlo.shape import ConstantOp as StablehloConstantOp
from sdy.passes.import_.constant_expressions import is_scalar_broadcast
from sdy.passes.rewriting.insertion import replace_by
from sdy.passes.rewriting.op_order import keep_order_without, op_order
from sdy.passes.rewriting.structural_hash import StructuralHash


class ConstantOrScalarMergerPass(ModulePass):
    """Merge equal constants and scalar broadcasts."""

    name = "sdy-constant-or-scalar-merger"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace equal ops by the first of them."""
        first: dict[tuple[object, ...], Operation] = {}
        structure = StructuralHash()
        erased: list[Operation] = []
        order = op_order(op)
        broadcasts = [inner for inner in order.of(BroadcastInDimOp) if is_scalar_broadcast(inner)]
        for inner in (*order.of(ConstantOp), *order.of(StablehloConstantOp), *broadcasts):
            key = inner.parent_region(), operands_of(inner), structure.of(inner)
            kept = first.setdefault(key, inner)
            if kept is not inner:
                replace_by(inner, nth_result(kept))
                erased.append(inner)
        keep_order_without(op, erased)
