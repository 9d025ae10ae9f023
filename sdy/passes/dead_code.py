"""Erasing ops that nobody would miss."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from sdy.passes.insertion import erase
from sdy.passes.propagation.op_traits import is_erasable


def erase_dead_ops(ops: Sequence[Operation]) -> bool:
    """Erase those of `ops`, in pre-order, that have no effect and whose results nobody uses; whether there were any.

    An op goes after its users, so one walk from the end finds all of them.
    """
    erased = False
    for op in reversed(ops):
        if op.parent is not None and _is_unused(op) and is_erasable(op):
            erase(op)
            erased = True
    return erased


def _is_unused(op: Operation) -> bool:
    return all(result.first_use is None for result in op.results)
