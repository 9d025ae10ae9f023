"""The greedy application of rewrites, in the order of MLIR's driver. Source: docs/spec/07, 0.5."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.ir import Operation

from sdy.dialects.ir.walk import post_order, pre_order
from sdy.mpmd.passes.tools.uses import is_used
from sdy.passes.rewriting.dead_code import erase_dead_ops
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_traits import is_erasable
from sdy.passes.rewriting.unique_constants import unique_constants
from sdy.passes.simplify.canonicalize import MAX_ROUNDS

# Rewrites the program at an op. Returns the ops to try next, or None if nothing was changed.
Rewrite = Callable[[Operation], Iterable[Operation] | None]


def rewrite_greedily(
    scope: Operation, rewrites: Sequence[Rewrite], *, merges_constants: bool = False, simplifies_regions: bool = False
) -> None:
    """Apply rewrites inside `scope` until none applies; dead ops are always erased.

    With `merges_constants`, equal constants are merged before each round; with `simplifies_regions`, dead ops are
    erased after each, whatever else changed.
    """
    for _ in range(MAX_ROUNDS):
        if merges_constants:
            unique_constants(pre_order(scope))
        changed = _run(scope, rewrites)
        if simplifies_regions:
            changed |= erase_dead_ops(pre_order(scope))
        if not changed:
            return


class _Worklist:
    """Ops to visit, the one added last first; an op that is listed keeps its place."""

    def __init__(self, ops: Iterable[Operation]) -> None:
        self._ops: list[Operation] = []
        self._listed: set[Operation] = set()
        for op in ops:
            self.add(op)

    def add(self, op: Operation) -> None:
        """Add an op unless it is listed."""
        if op not in self._listed:
            self._listed.add(op)
            self._ops.append(op)

    def pop(self) -> Operation | None:
        """Return and remove the op to visit next, or None at the end."""
        if not self._ops:
            return None
        op = self._ops.pop()
        self._listed.discard(op)
        return op


def _run(scope: Operation, rewrites: Sequence[Rewrite]) -> bool:
    worklist = _Worklist(post_order(scope))
    changed = False
    while (op := worklist.pop()) is not None:
        if op.parent is None or op is scope:
            continue  # erased by an earlier rewrite
        if not is_used(op) and is_erasable(op):
            sources = [operand.owner for operand in op.operands]
            erase(op)
            changed = True
            for source in sources:
                if isinstance(source, Operation):
                    worklist.add(source)
            continue
        for rewrite in rewrites:
            touched = rewrite(op)
            if touched is not None:
                changed = True
                for each in touched:
                    if each.parent is not None:
                        worklist.add(each)
                break
    return changed
