"""Functions and their calls on shards. Source: docs/spec/06, 1.5 and 8.1 (G1)."""

from __future__ import annotations

from xdsl.dialects.func import CallOp, FuncOp

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.shardings import argument_sharding, function_result_sharding
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()


@CHECKS.of(FuncOp)
def is_free(op: FuncOp) -> Check:
    """What a function returns is looked at where it does."""
    del op
    return lambda _: None


@FORMS.of(FuncOp)
def function(op: FuncOp) -> LocalForm:
    """The same function of shards."""

    def lower(lowering: Lowering) -> None:
        op.function_type = lowering.signature(op)
        lowering.make_arguments_local(op)

    return lower


@CHECKS.of(CallOp)
def agrees_with_callee(op: CallOp) -> Check:
    """Operands and results are cut as the callee has its arguments and results."""

    def check(lowering: Lowering) -> None:
        callee = lowering.functions.get(op.callee.root_reference.data)
        if callee is None:
            return
        for index in range(len(op.operands)):
            lowering.check_operand_sharding(
                op, index, argument_sharding(callee, index), f"the callee's argument {index}"
            )
        for index, result in enumerate(op.results):
            own = (f"result {index}", lowering.sharding(result))
            lowering.check_same_layout(op, own, ("the callee's result", function_result_sharding(callee, index)))

    return check
