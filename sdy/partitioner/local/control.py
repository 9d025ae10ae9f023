"""Ops with regions on one shard, and their terminators: what is handed over must be cut as its receiver has it.

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
from sdy.model.manual_axes import without_manual_axes
from sdy.model.sharding import TensorSharding
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()


@FORMS.of(control.WhileOp, NamedComputationOp)
def with_arguments(op: control.WhileOp | NamedComputationOp) -> LocalForm:
    """The same op, whose regions take shards."""
    return lambda lowering: _make_local(op, lowering)


def _make_local(op: Operation, lowering: Lowering) -> None:
    lowering.make_arguments_local(op)
    for result in tuple(op.results):
        lowering.make_local(result, op)


@FORMS.of(ManualComputationOp)
def manual_computation(op: ManualComputationOp) -> LocalForm:
    """Its body in its place, once the ops in it have been lowered."""

    def lower(lowering: Lowering) -> None:
        _make_local(op, lowering)
        lowering.inline_when_finished(op)

    return lower


@CHECKS.of(control.WhileOp, control.OptimizationBarrierOp)
def passes_to_results(op: control.WhileOp | control.OptimizationBarrierOp) -> Check:
    """Every operand is cut like its result."""

    def check(lowering: Lowering) -> None:
        for index, result in enumerate(op.results):
            lowering.check_operand_sharding(op, index, lowering.sharding(result), f"result {index}")

    return check


@CHECKS.of(ManualComputationOp, NamedComputationOp)
def passes_to_body(op: ManualComputationOp | NamedComputationOp) -> Check:
    """Every operand is cut as `in_shardings` says."""

    def check(lowering: Lowering) -> None:
        for index in range(len(op.operands)):
            target = None if op.in_shardings is None else op.in_shardings.data[index]
            lowering.check_operand_sharding(op, index, target, f"argument {index}")

    return check


@CHECKS.of(control.CaseOp, control.IfOp)
def passes_nothing(op: control.CaseOp | control.IfOp) -> Check:
    """What the branches return is looked at where they do; what chooses the branch is a scalar."""
    del op
    return lambda _: None


@CHECKS.of(control.ReturnOp, FuncReturnOp, BodyReturnOp)
def returns(op: Operation) -> Check:
    """Every returned value is cut like what the op around it makes of it."""

    def check(lowering: Lowering) -> None:
        for index in range(len(op.operands)):
            lowering.check_operand_sharding(op, index, _returned_sharding(op, index, lowering), f"result {index}")

    return check


def _returned_sharding(op: Operation, index: int, lowering: Lowering) -> TensorSharding | None:
    """The sharding that value `index` of a terminator is received in."""
    match op.parent_op():
        case FuncOp() as func:
            return function_result_sharding(func, index)
        case ManualComputationOp() as computation:
            return without_manual_axes(computation.out_shardings.data[index], computation.manual_axes.data)
        case control.WhileOp() as loop if op.parent_region() is loop.cond:
            return None
        case (NamedComputationOp() | control.WhileOp() | control.CaseOp() | control.IfOp()) as receiver:
            return lowering.sharding(receiver.results[index])
        case None:
            raise InternalError(f"{op.name} is in no op")
        case _:
            return None  # a region on elements
