"""Going through the ops of a module, quickly: passes do little else.

Classes of ops are compared with `is`, for none of ours has subclasses that stand for other ops, and `isinstance` is
slow on classes with an abstract base.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from xdsl.ir import Block, Operation

OpT = TypeVar("OpT", bound=Operation)


def pre_order(root: Operation, closed: type[Operation] | None = None) -> list[Operation]:
    """All ops inside `root`, each before those in its regions; without those inside ops of the class `closed`."""
    found: list[Operation] = []
    pending = _blocks(root)
    while pending:
        op = pending[-1]
        if op is None:
            pending.pop()
            continue
        pending[-1] = op.next_op
        found.append(op)
        if op.regions and type(op) is not closed:
            pending += _blocks(op)
    return found


def with_inner(op: Operation) -> Sequence[Operation]:
    """An op, then all ops inside it."""
    return (op, *pre_order(op)) if op.regions else (op,)


def ancestor_in(block: Block, op: Operation) -> Operation:
    """The op of a block that is, or has inside, an op that is in the block or deeper."""
    found = block.find_ancestor_op_in_block(op)
    assert found is not None  # by what is asked of callers
    return found


def post_order(root: Operation) -> list[Operation]:
    """All ops inside `root`, each after those in its regions."""
    found: list[Operation] = []
    for block in _ordered_blocks(root):
        op = block.first_op
        while op is not None:
            if op.regions:
                found += post_order(op)
            found.append(op)
            op = op.next_op
    return found


def inside_out(ops: Sequence[OpT]) -> list[OpT]:
    """Some ops that are given in pre-order, each after those inside it."""
    found: list[OpT] = []
    open_: list[OpT] = []
    for op in ops:
        while open_ and not open_[-1].is_ancestor(op):
            found.append(open_.pop())
        open_.append(op)
    return [*found, *reversed(open_)]


def ops_of(root: Operation, op_class: type[OpT]) -> list[OpT]:
    """The ops of a class inside `root`, in program order."""
    return of_class(pre_order(root), op_class)


def of_class(ops: Sequence[Operation], op_class: type[OpT]) -> list[OpT]:
    """Those of `ops` that are of a class."""
    return [cast(OpT, op) for op in ops if type(op) is op_class]


def _ordered_blocks(op: Operation) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]


def _blocks(op: Operation) -> list[Operation | None]:
    """The first op of each block, the first block last: it is taken first."""
    return [block.first_op for block in reversed(_ordered_blocks(op))]
