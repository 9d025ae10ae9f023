"""Local forms of ops with regions and of their terminators: passed values must have the sharding of their receiver.

Source: docs/spec/06, 1.5 and 8.1 (G2).
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import InternalError
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import ReturnOp as BodyReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.shardings import function_result_sharding
from sdy.dialects.stablehlo import control
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import without_manual_axes
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards
from sdy.partitioner.local.shard_checks import ShardChecks, check_nothing

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[None, [ShardChecks]]()


@FORMS.of(control.WhileOp, NamedComputationOp)
@of_shards
def region_op(op: control.WhileOp | NamedComputationOp, lowering: Lowering) -> None:
    """Keep the op, and give its results and block arguments local types."""
    _make_local(op, lowering)


def _make_local(op: Operation, lowering: Lowering) -> None:
    lowering.make_arguments_local(op)
    lowering.make_results_local(op)


@FORMS.of(ManualComputationOp)
@of_shards
def manual_computation(op: ManualComputationOp, lowering: Lowering) -> None:
    """Inline the body after the ops in it have been lowered."""
    _make_local(op, lowering)
    lowering.inline_when_finished(op)


@CHECKS.of(control.WhileOp, control.OptimizationBarrierOp)
def check_results_match_operands(op: control.WhileOp | control.OptimizationBarrierOp, checks: ShardChecks) -> None:
    """Check that every operand has the sharding of its result."""
    for index, result in enumerate(op.results):
        checks.check_operand_sharding(op, index, checks.shardings.of(result), f"result {index}")


@CHECKS.of(ManualComputationOp, NamedComputationOp)
def check_in_shardings(op: ManualComputationOp | NamedComputationOp, checks: ShardChecks) -> None:
    """Check that every operand has its sharding in `in_shardings`."""
    for index in range(len(op.operands)):
        target = None if op.in_shardings is None else op.in_shardings.data[index]
        checks.check_operand_sharding(op, index, target, f"argument {index}")


# The terminators of the branches are checked; the operand that selects a branch is a scalar.
CHECKS.of(control.CaseOp, control.IfOp)(check_nothing)


@CHECKS.of(control.ReturnOp, FuncReturnOp, BodyReturnOp)
def check_returned_values(op: Operation, checks: ShardChecks) -> None:
    """Check that every returned value has the sharding that the parent op expects."""
    for index in range(len(op.operands)):
        checks.check_operand_sharding(op, index, _returned_sharding(op, index, checks), f"result {index}")


def _returned_sharding(op: Operation, index: int, checks: ShardChecks) -> TensorSharding | None:
    """Return the sharding that the parent op expects of operand `index` of its terminator."""
    match op.parent_op():
        case FuncOp() as func:
            return function_result_sharding(func, index)
        case ManualComputationOp() as computation:
            return without_manual_axes(computation.out_shardings.data[index], computation.manual_axes.data)
        case control.WhileOp() as loop if op.parent_region() is loop.cond:
            return None
        case (NamedComputationOp() | control.WhileOp() | control.CaseOp() | control.IfOp()) as receiver:
            return checks.shardings.of(receiver.results[index])
        case None:
            raise InternalError(f"{op.name} has no parent op")
        case _:
            return None  # a region that works on elements
