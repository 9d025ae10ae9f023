"""Ops that say how values are sharded, or look at them, and do nothing: any shard will do.

Source: docs/spec/06, 8.1 (G11).
"""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.interpreter_dialect import PrintOp, ProbeOp
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy import ops
from sdy.partitioner.local.lowering import Check, LocalForm

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()

PASSING_ON: tuple[type[Operation], ...] = (
    ops.ReshardOp,
    ops.ShardingConstraintOp,
    ops.DataFlowEdgeOp,
    ops.FuncDataFlowEdgeOp,
)


@CHECKS.of(*PASSING_ON)
def stays(op: Operation) -> Check:
    """The value is cut after the op as before: a reshard that moves data has become collectives."""
    return lambda lowering: lowering.check_operand_sharding(op, 0, lowering.sharding(op.results[0]), "its result")


@FORMS.of(*PASSING_ON)
def passes_on(op: Operation) -> LocalForm:
    """Its operand in its place."""
    return lambda lowering: lowering.replace(op, op.operands[0])


@CHECKS.of(ops.ShardingGroupOp, PrintOp, ProbeOp)
def may_be_cut(op: Operation) -> Check:
    """Nothing is asked of its operand: what prints, prints the shard."""
    del op
    return lambda _: None


@FORMS.of(ops.ShardingGroupOp)
def goes(op: ops.ShardingGroupOp) -> LocalForm:
    """Nothing."""
    return lambda lowering: lowering.replace(op)
