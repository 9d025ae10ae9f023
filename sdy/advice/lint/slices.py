"""Rules on collectives whose result is sliced again: SDY-S404 after an all-gather, SDY-S405 after an all-reduce."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from sdy.advice.edits import Edit, Removal
from sdy.advice.lint.finding import Candidate, Fix
from sdy.advice.lint.linted_program import LintedProgram, cost_of
from sdy.advice.lint.uses import Uses, fix_of, uses_through_elementwise
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy.collectives import AllGatherOp, AllReduceOp, AllSliceOp
from sdy.model.axis import AxisList, overlaps

SCATTERED = 0.5  # the share of the bytes of an all-reduce that a reduce-scatter does not send


def gathered_then_sliced(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the all-gathers of which every device uses a slice alone."""
    for op in linted.final_ops:
        if isinstance(op, AllGatherOp):
            yield from _candidates(linted, op, op.listed_axes, "SDY-S404", 1.0)


def reduced_then_sliced(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the all-reduces of which every device uses a slice alone: a reduce-scatter sends half the bytes."""
    for op in linted.final_ops:
        if isinstance(op, AllReduceOp):
            yield from _candidates(linted, op, op.reduction_axes.data, "SDY-S405", SCATTERED)


def _candidates(
    linted: LintedProgram, op: AllGatherOp | AllReduceOp, axes: AxisList, code: str, share: float
) -> Iterator[Candidate]:
    found = uses_through_elementwise(op.result, lambda user: _slices_along(user, axes))
    collectives = linted.collectives_of(op)
    if found is None or not collectives:
        return
    kind, span = collectives[0].kind.value, span_of(op)
    listed = ", ".join(map(str, axes))
    yield Candidate(
        code,
        f"every device uses a slice alone of the result of the {kind} along {listed}",
        cost_of(collectives).times(share),
        list(_fixes(linted, op, found)),
        span=span,
        collectives=collectives,
        notes=tuple(line for each in collectives for line in linted.facts.causes_of(each)),
    )


def _slices_along(op: Operation, axes: AxisList) -> bool:
    if not isinstance(op, AllSliceOp):
        return False
    return any(overlaps(axis, own) for axis in op.listed_axes for own in axes)


def _fixes(linted: LintedProgram, op: AllGatherOp | AllReduceOp, found: Uses) -> Iterator[Fix]:
    """Yield fixes: each value on the way gets the sharding of the slice, or the constraint that gathers is removed."""
    sharding = found.sharding
    producer = op.tensor.owner
    owners = [*([producer] if isinstance(producer, Operation) else []), *found.through]
    for owner in owners:
        for result in owner.results:
            written = linted.written.written(result)
            if written is not None and written.type == op.result.type:
                edit = Edit(written, sharding)
                yield fix_of(linted, edit)
    at_op = (each for each in linted.constraints if span_of(each) == span_of(op))
    for constraint in at_op:
        yield from (fix_of(linted, Edit(constraint.result, sharding)), fix_of(linted, Removal(constraint.result)))
