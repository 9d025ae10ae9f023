"""Data flow edges: sets of values of a region op that hold the same data, and are therefore sharded alike.

An edge has sources (operands of the op and of the terminators of its regions) and targets (results of the op and block
arguments). One target, the owner, identifies the edge; an `sdy.data_flow_edge` op on the owner represents the edge.
Source: docs/spec/01, 6.3 and 6.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.sdy.ops import DataFlowEdgeOp
from sdy.dialects.sdy.regions import (
    CarryingLoopOp,
    ComputationOp,
    ManualComputationOp,
    NamedComputationOp,
    ShardedBodyOp,
)
from sdy.dialects.stablehlo.control import CaseOp, OptimizationBarrierOp, WhileOp

DataFlowOp: TypeAlias = ComputationOp | CarryingLoopOp | WhileOp | CaseOp | OptimizationBarrierOp

# Their classes, as `isinstance` takes long where every op is asked. Other dialects add theirs when they are loaded.
DATA_FLOW_OPS: set[type[Operation]] = {
    ManualComputationOp,
    NamedComputationOp,
    WhileOp,
    CaseOp,
    OptimizationBarrierOp,
}


@dataclass(frozen=True, slots=True)
class EdgeSource:
    """A source of an edge: operand `index` of `op`."""

    op: Operation
    index: int

    @property
    def value(self) -> SSAValue:
        """The value of the operand."""
        return self.op.operands[self.index]


def has_data_flow_edges(op: Operation | None) -> TypeGuard[DataFlowOp]:
    """Return whether `op` has data flow edges."""
    return type(op) in DATA_FLOW_OPS


def op_of(value: SSAValue) -> Operation | None:
    """Return the op that has `value` as a result or as an argument of a block of its regions."""
    if type(value) is OpResult:
        return value.op
    owner = value.owner
    return owner.parent_op() if isinstance(owner, Block) else owner


def index_of(value: SSAValue) -> int:
    """Return the index of `value` among the results of its op or the arguments of its block."""
    assert isinstance(value, OpResult | BlockArgument)
    return value.index


def result_owners(op: DataFlowOp) -> tuple[SSAValue, ...]:
    """Return the results of `op` that own an edge: all of them."""
    return tuple(op.results)


def argument_owners(op: DataFlowOp) -> tuple[SSAValue, ...]:
    """Return the block arguments of `op` that own an edge: those of ops whose body takes the operands."""
    return tuple(op.body.block.args) if isinstance(op, ComputationOp) else ()


def sources_of(owner: SSAValue) -> tuple[EdgeSource, ...]:
    """Return the sources of the edge that `owner` owns."""
    op, index = op_of(owner), index_of(owner)
    assert has_data_flow_edges(op)
    match op:
        case ManualComputationOp() | ShardedBodyOp():
            op_or_terminator = op if isinstance(owner, BlockArgument) else terminator_of(op.body)
            return (EdgeSource(op_or_terminator, index),)
        case WhileOp() | CarryingLoopOp():
            return EdgeSource(op, index), EdgeSource(terminator_of(op.body), index)
        case CaseOp():
            return tuple(EdgeSource(terminator_of(branch), index) for branch in op.branches)
        case OptimizationBarrierOp():
            return (EdgeSource(op, index),)


def other_targets_of(owner: SSAValue) -> tuple[SSAValue, ...]:
    """Return the targets of the edge that `owner` owns, except for the owner itself."""
    op = op_of(owner)
    index = index_of(owner)
    if isinstance(op, CarryingLoopOp):
        return (op.body.block.args[index],)
    if not isinstance(op, WhileOp):
        return ()
    return op.cond.block.args[index], op.body.block.args[index]


def owner_of_target(target: SSAValue) -> SSAValue | None:
    """Return the owner of the edge that has `target` as a target, or None if no edge has."""
    op = op_of(target)
    if not has_data_flow_edges(op):
        return None
    if isinstance(target, OpResult) or isinstance(op, ComputationOp):
        return target
    index = index_of(target)
    return op.results[index] if isinstance(op, WhileOp | CarryingLoopOp) and index < len(op.results) else None


def owner_of_source(source: EdgeSource) -> SSAValue | None:
    """Return the owner of the edge that has `source` as a source, or None if no edge has.

    For an operand of a manual or named computation, return the operand itself, as Shardy does: its edge is not found.
    """
    op, index = source.op, source.index
    if isinstance(op, ManualComputationOp | NamedComputationOp):
        return source.value
    if isinstance(op, ShardedBodyOp):
        return op.body.block.args[index]
    if isinstance(op, WhileOp | CarryingLoopOp | OptimizationBarrierOp):
        return op.results[index]
    if not op.has_trait(IsTerminator):
        return None
    parent = op.parent_op()
    if not has_data_flow_edges(parent) or (isinstance(parent, WhileOp) and op.parent_region() is parent.cond):
        return None
    return parent.results[index]


def edge_of_owner(owner: SSAValue | None) -> DataFlowEdgeOp | None:
    """Return the `sdy.data_flow_edge` op of the edge that `owner` owns, which is the only user of `owner`."""
    user = None if owner is None else owner.get_user_of_unique_use()
    return user if isinstance(user, DataFlowEdgeOp) else None


def edge_of_target(target: SSAValue) -> DataFlowEdgeOp | None:
    """Return the `sdy.data_flow_edge` op of the edge that has `target` as a target."""
    return edge_of_owner(owner_of_target(target))


def edge_of_source(source: EdgeSource) -> DataFlowEdgeOp | None:
    """Return the `sdy.data_flow_edge` op of the edge that has `source` as a source."""
    return edge_of_owner(owner_of_source(source))
