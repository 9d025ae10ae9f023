"""The collectives that all uses of a value lead to, through elementwise ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from sdy.advice.edits import Change
from sdy.advice.lint.finding import Fix
from sdy.advice.lint.linted_program import LintedProgram
from sdy.dialects.facts.traits import is_elementwise, passes_through
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.model.sharding import TensorSharding

MAX_OPS = 32  # so that the search ends early


@dataclass(frozen=True)
class Uses:
    """All uses of a value lead through elementwise ops to the collectives `ends`."""

    through: tuple[Operation, ...]
    ends: tuple[CollectiveOp, ...]

    @property
    def sharding(self) -> TensorSharding:
        """The sharding of the result of the first collective."""
        return self.ends[0].out_sharding.data


def uses_through_elementwise(value: SSAValue, is_end: Callable[[CollectiveOp], bool]) -> Uses | None:
    """Return the uses of a value if all of them lead to collectives that satisfy `is_end`; None if one does not."""
    through: list[Operation] = []
    ends: list[CollectiveOp] = []
    waiting = [value]
    while waiting:
        users = [use.operation for use in waiting.pop().uses]
        if not users or len(through) > MAX_OPS:
            return None
        for user in users:
            if user in through:
                continue
            if isinstance(user, CollectiveOp) and is_end(user):
                ends.append(user)
            elif is_elementwise(user) or passes_through(user):
                through.append(user)
                waiting += user.results
            else:
                return None
    return Uses(tuple(through), tuple(ends)) if ends else None


def fix_of(linted: LintedProgram, *changes: Change) -> Fix:
    """Return the fix that consists of some changes."""
    names = linted.names
    texts = (change.described(names.name(change.target), names.python_line(change.target)) for change in changes)
    return Fix(tuple(texts), changes)
