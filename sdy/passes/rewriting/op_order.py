"""The ops of a module in program order, cached from one pass to the next while no op is inserted, moved or erased.

A pipeline has about thirty passes, most of which look for a few ops; walking a large module in each of them takes
longer than their work. `run_passes` owns the cache of a module while it runs: it opens it by `caching_order` and
invalidates it after each pass that does not call `keep_order`, so a pass that does not know the cache is safe.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from collections.abc import Set as AbstractSet
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
        """Return the ops of a class, in order."""
        if op_class not in self._present:
            return []
        found = self._by_class.get(op_class)
        if found is None:
            found = list(compress(self.ops, map(is_, self._classes, repeat(op_class))))
            self._by_class[op_class] = found
        return cast("list[OpT]", found)

    def without(self, identities: set[int]) -> OpOrder:
        """Return the order without these ops."""
        return OpOrder([op for op in self.ops if id(op) not in identities])

    def has_any(self, op_classes: AbstractSet[type[Operation]]) -> bool:
        """Return whether there is an op of one of the classes."""
        return not self._present.isdisjoint(op_classes)


@dataclass
class OrderCache:
    """The order of a module while passes run on it. `is_kept`: the running pass has not changed it."""

    module: ModuleOp
    order: OpOrder | None = None
    is_kept: bool = False

    def current(self) -> OpOrder:
        """Return the order, computed if it is not cached."""
        if self.order is None:
            self.order = OpOrder(pre_order(self.module))
        return self.order


# The cache of the innermost `run_passes` of this thread or task.
_cache: ContextVar[OrderCache | None] = ContextVar("_cache", default=None)


def op_order(module: ModuleOp) -> OpOrder:
    """Return the ops of `module` as they were when the running pass began; call it before changing their order."""
    cache = _cache.get()
    if cache is None or cache.module is not module:
        return OpOrder(pre_order(module))
    return cache.current()


def keep_order(module: ModuleOp) -> None:
    """Keep the cached order. A pass calls this at its end if it has not inserted, moved or erased ops of `module`."""
    cache = _cache.get()
    if cache is not None and cache.module is module:
        cache.is_kept = True


def keep_order_without(module: ModuleOp, erased: Collection[Operation]) -> None:
    """Keep the cached order without these ops. A pass calls this at its end if its only change was to erase them."""
    cache = _cache.get()
    if cache is None or cache.module is not module or cache.order is None:
        return
    if erased:
        cache.order = cache.order.without({id(op) for op in erased})
    cache.is_kept = True


def forget_order(module: ModuleOp) -> None:
    """Drop the cached order. A pass calls this after changing ops, before code that asks for their order."""
    cache = _cache.get()
    if cache is not None and cache.module is module:
        cache.order = None


@contextmanager
def caching_order(module: ModuleOp) -> Generator[None, None, None]:
    """Cache the order of `module` while passes run on it."""
    token = _cache.set(OrderCache(module))
    try:
        yield
    finally:
        _cache.reset(token)


@contextmanager
def one_pass() -> Generator[None, None, None]:
    """Run one pass: drop the cached order at its end unless the pass called `keep_order`."""
    cache = _cache.get()
    if cache is not None:
        cache.is_kept = False
    yield
    if cache is not None and not cache.is_kept:
        cache.order = None
