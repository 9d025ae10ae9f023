"""Uses, users and positions of ops, in the order on which the results of some passes depend, and sorted blocks.

The last use of a text comes first, as in MLIR. Source: docs/spec/07, 0.3; docs/spec/08, 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue, Use

from sdy.dialects.ir.fast_ops import set_operand
from sdy.dialects.ir.walk import op_and_nested_ops, pre_order
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.passes.rewriting.op_traits import is_erasable

OpT = TypeVar("OpT", bound=Operation)
T = TypeVar("T")


def uses_of_op(op: Operation) -> list[Use]:
    """Return the uses of all results of an op."""
    return [use for result in op.results for use in result.uses]


def users_of(value: SSAValue) -> list[Operation]:
    """Return the ops that use a value, one per use."""
    return [use.operation for use in value.uses]


def users_of_op(op: Operation) -> list[Operation]:
    """Return the ops that use results of an op, one per use."""
    return [use.operation for use in uses_of_op(op)]


def is_used(op: Operation) -> bool:
    """Return whether a result of an op has a use."""
    return any(result.first_use is not None for result in op.results)


def distinct(items: Iterable[T]) -> list[T]:
    """Return the items without repetitions, in order of first appearance."""
    return list(dict.fromkeys(items))


def producer(value: SSAValue, kind: type[OpT]) -> OpT | None:
    """Return the op that defines a value if it is of a class."""
    owner = value.owner
    return owner if isinstance(owner, kind) else None


def ancestor_in_block(op: Operation, block: Block | None) -> Operation | None:
    """Return the op of a block that is `op` or contains it; None if there is none."""
    return None if block is None else block.find_ancestor_op_in_block(op)


def positions_in(block: Block) -> dict[Operation, int]:
    """Return the ops of a block and their positions, from 0."""
    return {op: index for index, op in enumerate(block.ops)}


def is_before(first: Operation, second: Operation) -> bool:
    """Return whether an op stands before another op of its block."""
    following = first.next_op
    while following is not None and following is not second:
        following = following.next_op
    return following is not None


def in_block_order(ops: Iterable[Operation]) -> list[Operation]:
    """Return ops of one block in its order."""
    wanted = set(ops)
    block = next(iter(wanted)).parent if wanted else None
    return [] if block is None else [op for op in block.ops if op in wanted]


def first_user_in_block(op: Operation) -> Operation | None:
    """Return the first op of the block that uses a result of `op`, itself or inside."""
    found = (ancestor_in_block(user, op.parent) for user in users_of_op(op))
    return next(iter(in_block_order(user for user in found if user is not None)), None)


def move_before(op: Operation, anchor: Operation) -> None:
    """Move an op right before another one."""
    if op is not anchor and anchor.prev_op is not op:
        block = anchor.parent
        assert block is not None
        op.detach()
        block.insert_op_before(op, anchor)


def move_after(op: Operation, anchor: Operation) -> None:
    """Move an op right after another one."""
    if op is not anchor and anchor.next_op is not op:
        block = anchor.parent
        assert block is not None
        op.detach()
        block.insert_op_after(op, anchor)


def move_to_start(op: Operation, block: Block) -> None:
    """Move an op to the start of a block."""
    first = block.first_op
    if first is not None and first is not op:
        move_before(op, first)


def move_to_producer(op: Operation) -> None:
    """Move an op right after the one that defines its operand, or to the start of the block of an argument."""
    owner = op.operands[0].owner
    if isinstance(owner, Block):
        move_to_start(op, owner)
    else:
        move_after(op, owner)


def replace_uses_by(value: SSAValue, replacement: SSAValue, users: Sequence[Operation]) -> None:
    """Replace the uses of a value in some ops."""
    for use in list(value.uses):
        if use.operation in users:
            set_operand(use.operation, use.index, replacement)


def effective_operands(op: Operation) -> list[SSAValue]:
    """Return the operands of an op, and then the values from outside that its regions use."""
    return distinct([*op.operands, *values_from_outside(op)])


def values_from_outside(op: Operation) -> list[SSAValue]:
    """Return the values that the regions of an op use and that are defined outside of it."""
    nested = pre_order(op) if op.regions else []
    inner = set(nested)
    return distinct(value for each in nested for value in each.operands if not _is_inside(value, op, inner))


def _is_inside(value: SSAValue, op: Operation, inner: set[Operation]) -> bool:
    owner = value.owner
    if not isinstance(owner, Block):
        return owner in inner
    around = owner.parent_op()
    return around is op or around in inner


def is_pure(op: Operation) -> bool:
    """Return whether an op has no effects and can be executed where its results are not needed."""
    return is_erasable(op) and not isinstance(op, CustomCallOp)


def sort_block(block: Block) -> bool:
    """Sort a block, keeping the order where possible; return whether that worked.

    Each sweep over the ops left places those whose operands are all placed. If a sweep places none, there is a cycle,
    and the first op left is placed.
    """
    *rest, end = list(block.ops)
    sources = {op: _sources(op, block) for op in rest}
    waiting = set(rest)
    order: list[Operation] = []
    is_sorted = True
    while rest:
        left: list[Operation] = []
        for op in rest:
            if waiting.isdisjoint(sources[op]):
                waiting.discard(op)
                order.append(op)
            else:
                left.append(op)
        if len(left) == len(rest):
            is_sorted = False
            waiting.discard(left[0])
            order.append(left.pop(0))
        rest = left
    for op in order:
        op.detach()
        block.insert_op_before(op, end)
    return is_sorted


def cycle_in(block: Block) -> list[Operation]:
    """Return ops of a block each of which waits for the next, and the last for the first; nothing if there are none."""
    ops = list(block.ops)
    sources = {op: _sources(op, block) for op in ops}
    waiting = set(ops)
    while ready := {op for op in waiting if waiting.isdisjoint(sources[op])}:
        waiting -= ready
    if not waiting:
        return []
    path = [next(op for op in ops if op in waiting)]
    while (following := next(op for op in ops if op in waiting and op in sources[path[-1]])) not in path:
        path.append(following)
    return path[path.index(following) :]


def _sources(op: Operation, block: Block) -> set[Operation]:
    """Return the other ops of the block that define what an op uses, itself or inside."""
    found = (
        block.find_ancestor_op_in_block(operand.owner)
        for inner in op_and_nested_ops(op)
        for operand in inner.operands
        if isinstance(operand.owner, Operation)
    )
    return {source for source in found if source is not None and source is not op}
