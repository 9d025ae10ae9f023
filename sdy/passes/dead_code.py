"""Erasing ops that nobody would miss."""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.walk import pre_order
from sdy.passes.insertion import erase
from sdy.passes.propagation.op_traits import is_erasable


def erase_dead_ops(root: Operation) -> bool:
    """Erase the ops inside `root` that have no effect and whose results nobody uses; whether there were any.

    An op goes after its users, so one walk from the end finds all of them.
    """
    erased = False
    for op in reversed(pre_order(root)):
        if op.parent is not None and not any(result.first_use for result in op.results) and is_erasable(op):
            erase(op)
            erased = True
    return erased
