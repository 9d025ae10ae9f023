"""Rules on sharding constraints: SDY-S408 (changes nothing) and SDY-S409 (reshards before and after)."""

from __future__ import annotations

from collections.abc import Iterator

from sdy.advice.edits import Edit, Removal
from sdy.advice.lint.finding import Candidate
from sdy.advice.lint.linted_program import LintedProgram, cost_of
from sdy.advice.lint.price import Cost
from sdy.advice.lint.uses import fix_of, uses_through_elementwise
from sdy.dialects.facts.traits import collective_kind
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy.collectives import CollectiveOp


def idle_constraints(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield all sharding constraints: the trial shows which of them change nothing."""
    for constraint in linted.constraints:
        name, span = linted.names.name(constraint.result), span_of(constraint)
        yield Candidate(
            "SDY-S408",
            f"the sharding constraint {name} changes nothing",
            Cost(),
            [fix_of(linted, Removal(constraint.result))],
            needs_fix=True,
            is_idle=True,
            span=span,
            subject=f"value {name}",
        )


def reshards_around_constraints(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the constraints whose operand is resharded for them, and whose result is resharded for every use."""
    last = {span_of(op): op for op in linted.final_ops if isinstance(op, CollectiveOp)}
    for constraint in linted.constraints:
        span = span_of(constraint)
        if span is None or span not in last:
            continue
        uses = uses_through_elementwise(last[span].result, lambda user: collective_kind(type(user)) is not None)
        before = tuple(each for each in linted.facts.collectives if each.span == span)
        after = () if uses is None else tuple(each for end in uses.ends for each in linted.collectives_of(end))
        if uses is None or not before or not after:
            continue
        name = linted.names.name(constraint.result)
        changes = (Removal(constraint.result), Edit(constraint.result, uses.sharding))
        yield Candidate(
            "SDY-S409",
            f"the operand of the constraint {name} is resharded for it, and its result is resharded for every use",
            cost_of((*before, *after)),
            [fix_of(linted, change) for change in changes],
            span=span,
            collectives=(*before, *after),
            subject=f"value {name}",
            notes=tuple(map(str, (*before, *after))),
        )
