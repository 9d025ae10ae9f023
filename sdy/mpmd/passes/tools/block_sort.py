"""Sort the ops of a block so that each stands after those it depends on. Source: docs/spec/08, 3.3."""

from __future__ import annotations

from xdsl.ir import Block, Operation

from sdy.dialects.ir.walk import op_and_nested_ops


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
