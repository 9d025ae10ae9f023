"""Convert sharding constraints to reshards.

    before  %1 = sdy.sharding_constraint %0 <@m, [{"x"}]> : tensor<8xf32>
    after   %1 = sdy.reshard %0 <@m, [{"x"}]> : tensor<8xf32>

Source: docs/spec/04, 4.7.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.dialects.sdy.ops import ReshardOp, ShardingConstraintOp
from sdy.passes.rewriting.insertion import replace_op
from sdy.passes.rewriting.op_order import keep_order, op_order


class ShardingConstraintToReshardPass(ModulePass):
    """Replace constraints by reshards."""

    name = "sdy-sharding-constraint-to-reshard"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace each constraint; discardable attributes stay."""
        found = op_order(op).of(ShardingConstraintOp)
        for constraint in found:
            replacement = ReshardOp(constraint.input, constraint.sharding.data)
            replacement.attributes.update(constraint.attributes)
            replace_op(constraint, replacement)
        if not found:
            keep_order(op)
