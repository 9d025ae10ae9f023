"""Putting ops on the way of a value: after its definition, before its user, in place of its other uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from sdy.dialects.data_flow import op_of
from sdy.dialects.ir.fast_ops import detach_range, replace_uses
from sdy.dialects.sdy.attrs import TensorShardingAttr
from sdy.dialects.sdy.ops import ReshardOp
from sdy.model.sharding import TensorSharding

OpT = TypeVar("OpT", bound=Operation)


def after_definition(value: SSAValue) -> InsertPoint:
    """Right after the op that defines `value`; at the start of the block that has it as an argument."""
    owner = value.owner
    return InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)


def location_of(value: SSAValue) -> LocationAttr:
    """Where the op stands that defines `value`, or that owns its block."""
    op = op_of(value)
    assert op is not None  # the block of a value in a module is in an op
    return op.location


def insert(op: OpT, point: InsertPoint, location: LocationAttr) -> OpT:
    """Put `op` at `point` and say that it comes from `location`."""
    op.location = location
    Rewriter.insert_op(op, point)
    return op


def reshard(value: SSAValue, sharding: TensorSharding) -> ReshardOp:
    """A reshard of `value`, not inserted yet."""
    return ReshardOp.create(
        operands=[value], result_types=[value.type], properties={"sharding": TensorShardingAttr(sharding)}
    )


def redirect_other_uses(value: SSAValue, replacement: SSAValue) -> None:
    """Let all users of `value` take `replacement`, but for the op that makes the latter."""
    value.replace_uses_with_if(replacement, lambda use: use.operation is not replacement.owner)


def insert_before(op: Operation, new: Operation) -> None:
    """Put `new` right before `op`, from which it comes."""
    assert op.parent is not None
    new.location = op.location
    op.parent.insert_op_before(new, op)


def replace_op(op: Operation, new: Operation) -> None:
    """Put `new` in the place of `op`, result by result."""
    insert_before(op, new)
    for result, replacement in zip(op.results, new.results, strict=True):
        replace_uses(result, replacement)
    erase(op)


def erase(op: Operation) -> None:
    """Remove an op that nobody uses."""
    assert all(result.first_use is None for result in op.results)
    op.detach()
    op.drop_all_references()


def erase_run(ops: Sequence[Operation]) -> None:
    """Remove ops that stand one after the other in a block; who uses their results no longer may is for the caller."""
    detach_range(ops[0], ops[-1])
    for op in ops:
        op.drop_all_references()
