"""Replace broadcasts that only add dims of size 1 by reshapes.

    before  %1 = broadcast_in_dim %0, dims = [0, 1] : (tensor<32x256xi32>) -> tensor<32x256x1xi32>
    after   %1 = reshape %0 : (tensor<32x256xi32>) -> tensor<32x256x1xi32>

So does XLA before it propagates: shardings pass reshapes before they pass other ops, and broadcasts after these. The
indices of an embedding have such a dim. Without this, the batch comes late, and activations are sharded by features.
"""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ReshapeOp
from sdy.dialects.verification.attribute_checks import SHARDING_RULE
from sdy.passes.rewriting.insertion import replace_op
from sdy.passes.rewriting.op_order import forget_order, keep_order, op_order


class ReshapeBroadcastsPass(ModulePass):
    """Replace broadcasts that only add dims of size 1 by reshapes, through which shardings propagate earlier."""

    name = "sdy-reshape-broadcasts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace the broadcasts of a module; those with a sharding rule of the user stay."""
        found = [each for each in op_order(op).of(BroadcastInDimOp) if _is_reshape(each)]
        if not found:
            keep_order(op)
            return
        forget_order(op)
        for each in found:
            types, attributes = [each.result.type], each.attributes
            replace_op(each, ReshapeOp.create(operands=[each.operand], result_types=types, attributes=attributes))


def _is_reshape(op: BroadcastInDimOp) -> bool:
    """Return whether an op repeats nothing and keeps the order of dims."""
    before, after = (static_shape(value.type) for value in (op.operand, op.result))
    if before is None or after is None or prod(before) != prod(after) or SHARDING_RULE in op.attributes:
        return False
    sizes = zip(op.broadcast_dimensions.get_values(), before, strict=True)
    dims = [dim for dim, size in sizes if size > 1]
    return 0 not in after and len(before) > 0 and dims == sorted(dims)
