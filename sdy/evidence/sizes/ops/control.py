"""Ties of calls, loops, branches and manual computations."""

from __future__ import annotations

from xdsl.dialects.func import CallOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import MeshOp, ShardingGroupOp
from sdy.dialects.sdy.ops import ReturnOp as SdyReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.stablehlo.calls import CompositeOp, CustomCallOp, is_identity_call
from sdy.dialects.stablehlo.collectives import PartitionIdOp, ReplicaIdOp
from sdy.dialects.stablehlo.control import CaseOp, IfOp, ReturnOp, WhileOp
from sdy.evidence.sizes.ties import Ties

TABLE = OpTable[None, [Ties]]()


@TABLE.of(WhileOp)
def _while(op: WhileOp, ties: Ties) -> None:
    ends = terminator_of(op.body).operands
    ties.all_same(op.operand, op.result, op.body.block.args, op.cond.block.args, ends)


@TABLE.of(IfOp, CaseOp)
def _branches(op: IfOp | CaseOp, ties: Ties) -> None:
    ties.all_same(op.result, *(terminator_of(each).operands for each in op.regions))


@TABLE.of(ManualComputationOp, NamedComputationOp)
def _computation(op: ManualComputationOp | NamedComputationOp, ties: Ties) -> None:
    """Tie each dim outside to the multiple of the dim inside that the manual axes make it, if there are some."""
    inside = (*op.body.block.args, *terminator_of(op.body).operands)
    for outer, inner in zip((*op.tensors, *op.outputs), inside, strict=True):
        for whole, shard in zip(ties.of(outer), ties.of(inner), strict=True):
            ties.tie_ratio(shard, whole)
        ties.values.same(outer, inner)


@TABLE.of(ReturnOp, SdyReturnOp, FuncReturnOp, MeshOp, ShardingGroupOp, PartitionIdOp, ReplicaIdOp)
def _nothing(op: Operation, ties: Ties) -> None:
    """Tie nothing: the op around a terminator ties its operands, and the number of a device has no dims."""


@TABLE.of(CallOp, CompositeOp)
def _call(op: CallOp | CompositeOp, ties: Ties) -> None:
    name = (op.callee if isinstance(op, CallOp) else op.decomposition).string_value()
    func = ties.functions.get(name)
    if func is None or not func.body.blocks:
        message = f"a program that calls @{name}, which has no body, cannot be reduced"
        raise SdyError(Diagnostic("SDY-X152", message, span_of(op)))
    ties.all_same(op.operands, func.body.block.args)
    ties.all_same(op.results, terminator_of(func.body).operands)


@TABLE.of(CustomCallOp)
def _custom_call(op: CustomCallOp, ties: Ties) -> None:
    if is_identity_call(op):
        ties.all_same(op.inputs, op.result)
    else:
        ties.lock_all(op)
