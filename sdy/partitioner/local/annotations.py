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
from sdy.partitioner.local.lowering import LocalForm
from sdy.partitioner.local.shard_checks import LocalCheck

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[LocalCheck]()

# Ops that their operand replaces.
FORWARDING = tuple(each for each in ops.OPS if has_fact(each, PassesThrough))


@CHECKS.of(*FORWARDING)
def check_same_sharding(op: Operation) -> LocalCheck:
    """Check that operand and result have the same sharding: reshards that move data are collectives by now."""
    return lambda checks: checks.check_operand_sharding(op, 0, checks.shardings.of(op.results[0]), "its result")


@FORMS.of(*FORWARDING)
def forward_operand(op: Operation) -> LocalForm:
    """Replace the op by its operand."""
    return lambda lowering: lowering.replace(op, op.operands[0])


@CHECKS.of(ops.ShardingGroupOp, PrintOp, ProbeOp)
def accept_any_sharding(op: Operation) -> LocalCheck:
    """Check nothing: the operand may have any sharding. An op that prints its operand prints the shard."""
    del op
    return lambda _: None


@CHECKS.of(CustomCallOp)
def check_custom_call(op: CustomCallOp) -> LocalCheck:
    """Check the rule of the target; each device may call a Python function with its shards, if that returns nothing."""
    if is_callback_on_shards(op):
        return lambda _: None
    return lambda checks: checks.check_agreement(op)


@FORMS.of(ops.ShardingGroupOp)
def erase(op: ops.ShardingGroupOp) -> LocalForm:
    """Erase the op."""
    return lambda lowering: lowering.replace(op)
