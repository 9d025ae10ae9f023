"""Ties of loops, branches and manual computations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Operation, Region, SSAValue

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import MeshOp, ShardingGroupOp
from sdy.dialects.sdy.ops import ReturnOp as SdyReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.stablehlo.control import CaseOp, IfOp, ReturnOp, WhileOp
from sdy.evidence.sizes.ties import Ties

TABLE = OpTable[None, [Ties]]()


@TABLE.of(WhileOp)
def _while(op: WhileOp, ties: Ties) -> None:
    body = returned(op.body)
    ties.all_same(op.operand, op.result, op.body.block.args, op.cond.block.args, body)


@TABLE.of(IfOp, CaseOp)
def _branches(op: IfOp | CaseOp, ties: Ties) -> None:
    ties.all_same(op.result, *map(returned, op.regions))


@TABLE.of(NamedComputationOp)
def _named_computation(op: NamedComputationOp, ties: Ties) -> None:
    ties.all_same(op.tensors, op.body.block.args)
    ties.all_same(op.outputs, returned(op.body))


@TABLE.of(ManualComputationOp)
def _manual_computation(op: ManualComputationOp, ties: Ties) -> None:
    """Tie each dim outside to the multiple of the dim inside that the manual axes make it."""
    inside = (*op.body.block.args, *returned(op.body))
    for outer, inner in zip((*op.tensors, *op.outputs), inside, strict=True):
        for whole, shard in zip(ties.of(outer), ties.of(inner), strict=True):
            ties.tie_ratio(shard, whole)
        ties.values.same(outer, inner)


@TABLE.of(ReturnOp, SdyReturnOp, FuncReturnOp, MeshOp, ShardingGroupOp)
def _nothing(op: Operation, ties: Ties) -> None:
    """The op around a terminator ties its operands."""


def returned(region: Region) -> Sequence[SSAValue]:
    """Return the values that a region returns."""
    return terminator_of(region).operands
