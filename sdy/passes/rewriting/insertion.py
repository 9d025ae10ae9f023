"""Insert, replace and erase ops, keeping their locations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from sdy.dialects.data_flow import op_of
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import detach, detach_range, drop_uses, insert_op_before, replace_uses

OpT = TypeVar("OpT", bound=Operation)


def after_definition(value: SSAValue) -> InsertPoint:
    """Return the point right after the op that defines `value`, or at the start of its block if it is an argument."""
    owner = value.owner
    return InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)


def point_after(op: Operation | None, block: Block) -> InsertPoint:
    """Return the point right after an op, or at the start of a block if there is none."""
    return InsertPoint.at_start(block) if op is None else InsertPoint.after(op)


def location_of(value: SSAValue) -> LocationAttr:
    """Return the location of the op that defines `value`, or that owns its block."""
    op = op_of(value)
    assert op is not None  # a module contains every block
    return op.location


def insert(op: OpT, point: InsertPoint, location: LocationAttr) -> OpT:
    """Insert `op` at `point` and give it the location."""
    op.location = location
    Rewriter.insert_op(op, point)
    return op


def redirect_other_uses(value: SSAValue, replacement: SSAValue) -> None:
    """Replace all uses of `value` by `replacement`, except in the op that defines the replacement."""
    value.replace_uses_with_if(replacement, lambda use: use.operation is not replacement.owner)


def insert_before(op: Operation, new: OpT) -> OpT:
    """Insert `new` right before `op`, with its location, and return it."""
    new.location = op.location
    insert_op_before(new, op)
    return new


def replace_op(op: Operation, new: Operation) -> None:
    """Replace `op` by `new`, result by result."""
    replace_by(op, *insert_before(op, new).results)


def replace_by(op: Operation, *values: SSAValue) -> None:
    """Replace the results of `op` by values, and erase it."""
    for result, value in zip(op.results, values, strict=True):
        replace_uses(result, value)
    erase(op)


def replace_by_body(op: Operation, body: Region, arguments: Sequence[SSAValue]) -> None:
    """Replace an op by the ops of a region; the values that the region returns replace the results."""
    end = terminator_of(body)
    Rewriter.inline_block(body.block, InsertPoint.before(op), arguments)
    replace_by(op, *end.operands)
    erase(end)


def erase(op: Operation) -> None:
    """Erase an op without uses."""
    assert all(result.first_use is None for result in op.results)
    detach(op)
    drop_uses(op)


def erase_run(ops: Sequence[Operation]) -> None:
    """Erase consecutive ops of a block. The caller guarantees that no other op uses their results."""
    detach_range(ops[0], ops[-1])
    for op in ops:
        drop_uses(op)
