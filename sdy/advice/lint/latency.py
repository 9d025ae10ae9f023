"""The rule on many small collectives whose time is latency: SDY-S412."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sdy.advice.lint.finding import Candidate
from sdy.advice.lint.linted_program import LintedProgram
from sdy.advice.lint.price import Cost
from sdy.cost.collectives import CollectiveKind
from sdy.cost.schedule import CollectiveRun
from sdy.diagnostics.diagnostic import Span
from sdy.dialects.ir.op_location import span_of
from sdy.model.axis import AxisList

MANY = 8  # collectives of one kind and along the same axes


@dataclass(frozen=True, slots=True)
class SmallCollective:
    """A collective that runs `times` times, with the seconds and bytes of one run."""

    seconds: float
    bytes_sent: float
    times: int
    span: Span | None


def many_small_collectives(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield one candidate for the kinds of collectives that run often, and each time only wait for latency."""
    groups = {key: runs for key, runs in _latency_bound(linted).items() if sum(each.times for each in runs) >= MANY}
    if not groups:
        return
    total = sum(each.times for runs in groups.values() for each in runs)
    span = next(iter(groups.values()))[0].span
    yield Candidate(
        "SDY-S412",
        f"{total} collectives are so small that they only wait for latency",
        Cost(seconds=sum(_avoidable_seconds(runs) for runs in groups.values())),
        span=span,
        subject="latency",
        notes=(
            *(_described(kind, axes, runs) for (kind, axes), runs in groups.items()),
            _advice(run for runs in groups.values() for run in runs),
        ),
    )


def _advice(runs: Iterable[SmallCollective]) -> str:
    """Return what to do; only a collective that runs several times may be in a loop."""
    after_the_loop = ", or communicate after the loop" if any(each.times > 1 for each in runs) else ""
    return f"one collective of all their data waits once: stack the tensors{after_the_loop}"


def _latency_bound(linted: LintedProgram) -> dict[tuple[CollectiveKind, AxisList], list[SmallCollective]]:
    groups: dict[tuple[CollectiveKind, AxisList], list[SmallCollective]] = {}
    for slot in linted.facts.schedule:
        run = slot.work
        if isinstance(run, CollectiveRun) and run.is_latency_bound and not slot.visit.is_left:
            small = SmallCollective(run.seconds, run.bytes_sent, slot.visit.times, span_of(slot.visit.op))
            groups.setdefault((run.kind, run.axes), []).append(small)
    return groups


def _avoidable_seconds(runs: Sequence[SmallCollective]) -> float:
    """Return the seconds of all runs but the longest one."""
    return sum(each.times * each.seconds for each in runs) - max(each.seconds for each in runs)


def _described(kind: CollectiveKind, axes: AxisList, runs: Sequence[SmallCollective]) -> str:
    count = sum(each.times for each in runs)
    average = sum(each.times * each.bytes_sent for each in runs) / count
    along = ", ".join(map(str, axes))
    return f"{count} {kind.value}s along {along}, {round(average):,} bytes each on average"
