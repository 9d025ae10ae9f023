"""Local forms of functions and calls. Source: docs/spec/06, 1.5 and 8.1 (G1)."""

from __future__ import annotations

from xdsl.dialects.func import CallOp, FuncOp

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.shardings import argument_sharding, function_result_sharding
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards
from sdy.partitioner.local.shard_checks import ShardChecks, check_nothing

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[None, [ShardChecks]]()


CHECKS.of(FuncOp)(check_nothing)  # the returned values are checked at the terminator


@FORMS.of(FuncOp)
@of_shards
def function(op: FuncOp, lowering: Lowering) -> None:
    """Give the arguments and results of the function local types."""
    op.function_type = lowering.local_signature(op)
    lowering.make_arguments_local(op)


@CHECKS.of(CallOp)
def check_call(op: CallOp, checks: ShardChecks) -> None:
    """Check that operands and results have the shardings of the callee's arguments and results."""
    callee = checks.functions.get(op.callee.root_reference.data)
    if callee is None:
        return
    for index in range(len(op.operands)):
        checks.check_operand_sharding(op, index, argument_sharding(callee, index), f"the callee's argument {index}")
    for index, result in enumerate(op.results):
        own = (f"result {index}", checks.shardings.of(result))
        checks.check_same_layout(op, own, ("the callee's result", function_result_sharding(callee, index)))
