"""Going through the ops of a module, quickly: passes do little else.

Classes of ops are compared with `is`, for none of ours has subclasses that stand for other ops, and `isinstance` is
slow on classes with an abstract base. The links between ops are read where they are stored, for a property is a call.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, repeat
from operator import is_
from typing import TypeVar, cast

from xdsl.ir import Block, Operation, SSAValue

OpT = TypeVar("OpT", bound=Operation)


def pre_order(root: Operation, closed: type[Operation] | None = None) -> list[Operation]:
    """All ops inside `root`, each before those in its regions; without those inside ops of the class `closed`."""
    found: list[Operation] = []
    for block in blocks_of(root):
        _collect(block, closed, found)
    return found


def _collect(block: Block, closed: type[Operation] | None, found: list[Operation]) -> None:
    op = block._first_op
    while op is not None:
        found.append(op)
        if op.regions and type(op) is not closed:
            for inner in blocks_of(op):
                _collect(inner, closed, found)
        op = op._next_op


def ops_in(block: Block) -> list[Operation]:
    """The ops that stand in a block."""
    found: list[Operation] = []
    op = block._first_op
    while op is not None:
        found.append(op)
        op = op._next_op
    return found


def blocks_of(op: Operation) -> list[Block]:
    """The blocks of the regions of an op."""
    found: list[Block] = []
    for region in op.regions:
        block = region._first_block
        while block is not None:
            found.append(block)
            block = block._next_block
    return found


def op_and_nested_ops(op: Operation) -> Sequence[Operation]:
    """An op, then all ops inside it."""
    return (op, *pre_order(op)) if op.regions else (op,)


def block_of(value: SSAValue) -> Block | None:
    """The block that a value is defined in."""
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def ancestor_in(block: Block, op: Operation) -> Operation:
    """The op of a block that is, or has inside, an op that is in the block or deeper."""
    found = block.find_ancestor_op_in_block(op)
    assert found is not None  # by what is asked of callers
    return found


def post_order(root: Operation) -> list[Operation]:
    """All ops inside `root`, each after those in its regions."""
    found: list[Operation] = []
    for block in blocks_of(root):
        op = block._first_op
        while op is not None:
            if op.regions:
                found += post_order(op)
            found.append(op)
            op = op._next_op
    return found


def nested_first(ops: Sequence[OpT]) -> list[OpT]:
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
    return cast("list[OpT]", list(compress(ops, map(is_, map(type, ops), repeat(op_class)))))
