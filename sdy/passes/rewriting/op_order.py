"""The ops of a module in program order, kept from one pass to the next while no op is inserted, moved or erased.

A pipeline has some thirty passes, most of which look for a few ops; walking a large module for each takes longer than
what they do. What is kept is dropped after each pass that does not say that the order still holds, so a pass
that knows nothing of this is safe.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import compress, repeat
from operator import is_
from typing import TypeVar, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.dialects.ir.walk import pre_order

OpT = TypeVar("OpT", bound=Operation)


class OpOrder:
    """The ops inside a module, each before those in its regions."""

    def __init__(self, ops: list[Operation]) -> None:
        self.ops = ops
        self._classes = list(map(type, ops))
        self._present = frozenset(self._classes)
        self._by_class: dict[type[Operation], list[Operation]] = {}

    def of(self, op_class: type[OpT]) -> list[OpT]:
        """The ops of a class, in order."""
        if op_class not in self._present:
            return []
        found = self._by_class.get(op_class)
        if found is None:
            found = list(compress(self.ops, map(is_, self._classes, repeat(op_class))))
            self._by_class[op_class] = found
        return cast("list[OpT]", found)

    def without(self, identities: set[int]) -> OpOrder:
        """The order of all ops but these."""
        return OpOrder([op for op in self.ops if id(op) not in identities])

    def has_any(self, op_classes: frozenset[type[Operation]]) -> bool:
        """Whether there is an op of one of the classes."""
        return not self._present.isdisjoint(op_classes)


@dataclass
class Memory:
    """What is kept while passes run on a module."""

    module: ModuleOp
    order: OpOrder | None = None
    holds: bool = False

    def recall(self) -> OpOrder:
        """The order that is kept, found now where it is not."""
        if self.order is None:
            self.order = OpOrder(pre_order(self.module))
        return self.order


_memory: ContextVar[Memory | None] = ContextVar("_memory", default=None)


def op_order(module: ModuleOp) -> OpOrder:
    """The ops of `module` as they were when the pass that asks began; a pass asks before it changes their order."""
    memory = _memory.get()
    if memory is None or memory.module is not module:
        return OpOrder(pre_order(module))
    return memory.recall()


def keep_order(module: ModuleOp) -> None:
    """Said by a pass at its end, which has neither inserted nor moved nor erased an op of `module`."""
    memory = _memory.get()
    if memory is not None and memory.module is module:
        memory.holds = True


def keep_order_without(module: ModuleOp, erased: Collection[Operation]) -> None:
    """Said by a pass at its end, which has done nothing to the order but to erase these ops, without those inside."""
    memory = _memory.get()
    if memory is None or memory.module is not module or memory.order is None:
        return
    if erased:
        memory.order = memory.order.without({id(op) for op in erased})
    memory.holds = True


def forget_order(module: ModuleOp) -> None:
    """Said by a pass that has changed the ops of `module` and lets others ask for their order."""
    memory = _memory.get()
    if memory is not None and memory.module is module:
        memory.order = None


@contextmanager
def remembering(module: ModuleOp) -> Generator[None, None, None]:
    """While passes run on `module`."""
    token = _memory.set(Memory(module))
    try:
        yield
    finally:
        _memory.reset(token)


@contextmanager
def one_pass() -> Generator[None, None, None]:
    """While one pass runs: what is kept is dropped at its end unless the pass said `keep_order`."""
    memory = _memory.get()
    if memory is not None:
        memory.holds = False
    yield
    if memory is not None and not memory.holds:
        memory.order = None
