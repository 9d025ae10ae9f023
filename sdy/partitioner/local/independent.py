"""Ops that each shard computes by itself, once explicit reshards have made the tensors agree.

Source: spec of local lowering, section 1.4.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.op_table import OpTable
from sdy.dialects.places import span_of
from sdy.dialects.stablehlo import contraction, control, elementwise, reduction, shape
from sdy.partitioner.local.emitter import shape_of
from sdy.partitioner.local.lowering import LocalForm, Lowering

FORMS = OpTable[LocalForm]()


@FORMS.of(
    *elementwise.OPS,
    contraction.DotOp,
    contraction.DotGeneralOp,
    reduction.ReduceOp,
    shape.BroadcastInDimOp,
    shape.TransposeOp,
    control.ReturnOp,
    FuncReturnOp,
)
def independent(op: Operation) -> LocalForm:
    """The same op on smaller tensors."""

    def lower(lowering: Lowering) -> None:
        for result in tuple(op.results):
            lowering.make_local(result, op)

    return lower


@FORMS.of(shape.ReshapeOp)
def reshape(op: shape.ReshapeOp) -> LocalForm:
    """The same op on smaller tensors, whose shards hold the same elements."""

    def lower(lowering: Lowering) -> None:
        lowering.make_local(op.result, op)
        if prod(shape_of(op.operand)) != prod(shape_of(op.result)):
            message = (
                f"a reshape whose shards are {op.operand.type} and {op.result.type} moves elements between devices"
            )
            hint = "reshard the operand or the result so that both are cut along the same factors"
            raise SdyError(Diagnostic("SDY-L002", message, span_of(op), hint=hint))

    return lower


def replicated_only(op: Operation) -> LocalForm:
    """Any other op runs as it is, where nothing it touches is cut."""

    def lower(lowering: Lowering) -> None:
        if any(lowering.is_cut(value) for value in (*op.operands, *op.results)):
            message = f"{op.name} on cut tensors has no form for one shard"
            hint = "put sdy.sharding_constraint on its operands and results, with no axes in any dim"
            raise SdyError(Diagnostic("SDY-L001", message, span_of(op), hint=hint))

    return lower
