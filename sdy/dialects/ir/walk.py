"""Fast walks over the ops of a module, which dominate the time of many passes.

Op classes are compared with `is`: none has subclasses with another meaning, and `isinstance` is slow for classes with
an abstract base. The links between ops are read from private fields, because properties are function calls.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import compress, repeat
from operator import is_
from typing import TypeVar, cast

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

OpT = TypeVar("OpT", bound=Operation)
T = TypeVar("T", bound=Hashable)


def pre_order(root: Operation, opaque: type[Operation] | None = None) -> list[Operation]:
    """Return all ops inside `root`, each before those in its regions; skip ops inside ops of class `opaque`."""
    collected: list[Operation] = []
    for block in blocks_of(root):
        _collect(block, opaque, collected)
    return collected


def _collect(block: Block, opaque: type[Operation] | None, collected: list[Operation]) -> None:
    op = block._first_op
    while op is not None:
        collected.append(op)
        if op.regions and type(op) is not opaque:
            for inner in blocks_of(op):
                _collect(inner, opaque, collected)
        op = op._next_op


def ops_in(block: Block) -> list[Operation]:
    """Return the ops directly in a block."""
    collected: list[Operation] = []
    op = block._first_op
    while op is not None:
        collected.append(op)
        op = op._next_op
    return collected


def blocks_of(op: Operation) -> list[Block]:
    """Return the blocks of the regions of an op."""
    blocks: list[Block] = []
    for region in op.regions:
        block = region._first_block
        while block is not None:
            blocks.append(block)
            block = block._next_block
    return blocks


def op_and_nested_ops(op: Operation) -> Sequence[Operation]:
    """Return an op, followed by all ops inside it."""
    return (op, *pre_order(op)) if op.regions else (op,)


def block_of(value: SSAValue) -> Block | None:
    """Return the block in which a value is defined."""
    return value.op.parent if type(value) is OpResult else cast(BlockArgument, value).block


def ops_around(op: Operation) -> Iterator[Operation]:
    """Yield the ops around an op, the innermost first."""
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def enclosing(op: Operation, *op_classes: type[OpT]) -> OpT | None:
    """Return the innermost op of one of the classes around an op, or None."""
    return next((around for around in ops_around(op) if isinstance(around, op_classes)), None)


def reached(starts: Iterable[T], following: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """Yield the starts and what follows from them, directly or through others: each once, as it is found."""
    pending = list(dict.fromkeys(starts))
    found = set(pending)
    yield from list(pending)
    while pending:
        for each in following(pending.pop()):
            if each not in found:
                found.add(each)
                pending.append(each)
                yield each


def ancestor_in(block: Block, op: Operation) -> Operation:
    """Return the op of `block` that is `op` or contains it."""
    ancestor = block.find_ancestor_op_in_block(op)
    assert ancestor is not None  # callers pass an op inside the block
    return ancestor


def post_order(root: Operation) -> list[Operation]:
    """Return all ops inside `root`, each after those in its regions."""
    collected: list[Operation] = []
    for block in blocks_of(root):
        op = block._first_op
        while op is not None:
            if op.regions:
                collected += post_order(op)
            collected.append(op)
            op = op._next_op
    return collected


def nested_first(ops: Sequence[OpT]) -> list[OpT]:
    """Return the ops, given in pre-order, with each op after those inside it."""
    collected: list[OpT] = []
    enclosing: list[OpT] = []
    for op in ops:
        while enclosing and not enclosing[-1].is_ancestor(op):
            collected.append(enclosing.pop())
        enclosing.append(op)
    return [*collected, *reversed(enclosing)]


def ops_of(root: Operation, op_class: type[OpT]) -> list[OpT]:
    """Return the ops of a class inside `root`, in program order."""
    return of_class(pre_order(root), op_class)


def of_class(ops: Sequence[Operation], op_class: type[OpT]) -> list[OpT]:
    """Return those of `ops` that are of a class."""
    return cast("list[OpT]", list(compress(ops, map(is_, map(type, ops), repeat(op_class)))))
