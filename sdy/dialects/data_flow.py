"""Data flow edges: which operands, returned values, block arguments and results of a region op hold the same value.

An edge has sources (operands of the op, operands of the terminators of its regions) and targets (its results, its
block arguments), all to be sharded alike. One target is the owner, which names the edge; an `sdy.data_flow_edge` on
the owner stands for the edge. Source: docs/spec/01, 6.3 and 6.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.traits import IsTerminator

from sdy.dialects.sdy.ops import DataFlowEdgeOp
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.stablehlo.control import CaseOp, OptimizationBarrierOp, WhileOp

DataFlowOp: TypeAlias = ManualComputationOp | NamedComputationOp | WhileOp | CaseOp | OptimizationBarrierOp

_REGION_OPS = (ManualComputationOp, NamedComputationOp)
DATA_FLOW_OPS = frozenset[type[Operation]]((*_REGION_OPS, WhileOp, CaseOp, OptimizationBarrierOp))


@dataclass(frozen=True, slots=True)
class EdgeSource:
    """An operand that feeds an edge: operand `index` of `op`."""

    op: Operation
    index: int

    @property
    def value(self) -> SSAValue:
        """The value that feeds the edge."""
        return self.op.operands[self.index]


def has_data_flow_edges(op: Operation | None) -> TypeGuard[DataFlowOp]:
    """Whether `op` has data flow edges."""
    return type(op) in DATA_FLOW_OPS


def op_of(value: SSAValue) -> Operation | None:
    """The op that has `value` as a result, or as an argument of a block of its regions."""
    if type(value) is OpResult:
        return value.op
    owner = value.owner
    return owner.parent_op() if isinstance(owner, Block) else owner


def index_of(value: SSAValue) -> int:
    """The number of `value` among the results of its op, or among the arguments of its block."""
    assert isinstance(value, OpResult | BlockArgument)
    return value.index


def result_owners(op: DataFlowOp) -> tuple[SSAValue, ...]:
    """The results that own an edge: all of them."""
    return tuple(op.results)


def argument_owners(op: DataFlowOp) -> tuple[SSAValue, ...]:
    """The block arguments that own an edge: those of manual and named computations."""
    return tuple(op.body.block.args) if isinstance(op, _REGION_OPS) else ()


def sources_of(owner: SSAValue) -> tuple[EdgeSource, ...]:
    """What feeds the edge that `owner` owns."""
    op, index = op_of(owner), index_of(owner)
    assert has_data_flow_edges(op)
    match op:
        case ManualComputationOp() | NamedComputationOp():
            op_or_terminator = op if isinstance(owner, BlockArgument) else _terminator(op.body)
            return (EdgeSource(op_or_terminator, index),)
        case WhileOp():
            return EdgeSource(op, index), EdgeSource(_terminator(op.body), index)
        case CaseOp():
            return tuple(EdgeSource(_terminator(branch), index) for branch in op.branches)
        case OptimizationBarrierOp():
            return (EdgeSource(op, index),)


def other_targets_of(owner: SSAValue) -> tuple[SSAValue, ...]:
    """The targets of the edge that `owner` owns, besides it."""
    op = op_of(owner)
    if not isinstance(op, WhileOp):
        return ()
    index = index_of(owner)
    return op.cond.block.args[index], op.body.block.args[index]


def owner_of_target(target: SSAValue) -> SSAValue | None:
    """The owner of the edge that `target` is a target of; None where it is of no edge."""
    op = op_of(target)
    if not has_data_flow_edges(op):
        return None
    if isinstance(target, OpResult) or isinstance(op, _REGION_OPS):
        return target
    return op.results[index_of(target)] if isinstance(op, WhileOp) else None


def owner_of_source(source: EdgeSource) -> SSAValue | None:
    """The owner of the edge that `source` feeds; None where it feeds none.

    Of an operand of a manual or named computation this is the operand itself, as in Shardy: its edge is not found.
    """
    op, index = source.op, source.index
    if isinstance(op, _REGION_OPS):
        return source.value
    if isinstance(op, WhileOp | OptimizationBarrierOp):
        return op.results[index]
    if not op.has_trait(IsTerminator):
        return None
    parent = op.parent_op()
    if not has_data_flow_edges(parent) or (isinstance(parent, WhileOp) and op.parent_region() is parent.cond):
        return None
    return parent.results[index]


def edge_of_owner(owner: SSAValue | None) -> DataFlowEdgeOp | None:
    """The op that stands for the edge which `owner` owns: its one user."""
    user = None if owner is None else owner.get_user_of_unique_use()
    return user if isinstance(user, DataFlowEdgeOp) else None


def edge_of_target(target: SSAValue) -> DataFlowEdgeOp | None:
    """The op that stands for the edge which `target` is a target of."""
    return edge_of_owner(owner_of_target(target))


def edge_of_source(source: EdgeSource) -> DataFlowEdgeOp | None:
    """The op that stands for the edge which `source` feeds."""
    return edge_of_owner(owner_of_source(source))


def _terminator(region: Region) -> Operation:
    terminator = region.block.last_op
    assert terminator is not None  # verified
    return terminator
