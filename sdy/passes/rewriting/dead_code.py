"""Erase dead ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from xdsl.ir import Operation, SSAValue, Use

from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_traits import is_erasable


def erase_dead_ops(ops: Sequence[Operation]) -> bool:
    """Erase those of `ops`, in pre-order, that have no effect and no used result; return whether any was erased.

    Users are visited before producers, so one walk from the end finds all dead ops.
    """
    erased = False
    for op in reversed(ops):
        if op.parent is not None and not any(map(_first_use, op.results)) and is_erasable(op):
            erase(op)
            erased = True
    return erased


_first_use: Callable[[SSAValue], Use | None] = attrgetter("first_use")
