"""Ties of calls."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.calls import CompositeOp, CustomCallOp, is_identity_call
from sdy.evidence.sizes.ops.control import returned
from sdy.evidence.sizes.ties import Ties

TABLE = OpTable[None, [Ties]]()


@TABLE.of(CallOp)
def _call(op: CallOp, ties: Ties) -> None:
    _tie_call(ties, op, op.callee.string_value(), op.arguments, op.res)


@TABLE.of(CompositeOp)
def _composite(op: CompositeOp, ties: Ties) -> None:
    _tie_call(ties, op, op.decomposition.string_value(), op.inputs, op.result)


def _tie_call(ties: Ties, op: Operation, name: str, arguments: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
    func = ties.functions.get(name)
    if func is None or not func.body.blocks:
        message = f"a program that calls @{name}, which has no body, cannot be reduced"
        raise SdyError(Diagnostic("SDY-X152", message, span_of(op)))
    ties.all_same(arguments, func.body.block.args)
    ties.all_same(results, returned(func.body))


@TABLE.of(CustomCallOp)
def _custom_call(op: CustomCallOp, ties: Ties) -> None:
    if is_identity_call(op):
        ties.all_same(op.inputs, op.result)
    else:
        ties.lock_all(op)
