"""Local forms of ops that annotate or observe values and compute nothing.

Source: docs/spec/06, 8.1 (G11).
"""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.facts.traits import PassesThrough, has_fact
from sdy.dialects.interpreter_dialect import PrintOp, ProbeOp
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy import ops
from sdy.dialects.stablehlo.calls import CustomCallOp, is_callback_on_shards
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards
from sdy.partitioner.local.shard_checks import ShardChecks, check_nothing

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[None, [ShardChecks]]()

# Ops that their operand replaces.
FORWARDING = tuple(each for each in ops.OPS if has_fact(each, PassesThrough))


@CHECKS.of(*FORWARDING)
def check_same_sharding(op: Operation, checks: ShardChecks) -> None:
    """Check that operand and result have the same sharding: reshards that move data are collectives by now."""
    checks.check_operand_sharding(op, 0, checks.shardings.of(op.results[0]), "its result")


@FORMS.of(*FORWARDING)
@of_shards
def forward_operand(op: Operation, lowering: Lowering) -> None:
    """Replace the op by its operand."""
    lowering.replace(op, op.operands[0])


# They may have any sharding; an op that prints its operand prints the shard.
CHECKS.of(ops.ShardingGroupOp, PrintOp, ProbeOp)(check_nothing)


@CHECKS.of(CustomCallOp)
def check_custom_call(op: CustomCallOp, checks: ShardChecks) -> None:
    """Check the rule of the target; each device may call a Python function with its shards, if that returns nothing."""
    if not is_callback_on_shards(op):
        checks.check_agreement(op)


@FORMS.of(ops.ShardingGroupOp)
@of_shards
def erase(op: ops.ShardingGroupOp, lowering: Lowering) -> None:
    """Erase the op."""
    lowering.replace(op)
