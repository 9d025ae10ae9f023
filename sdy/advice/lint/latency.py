"""The rule on many small collectives whose time is latency: SDY-S412."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sdy.advice.lint.finding import Candidate
from sdy.advice.lint.linted_program import LintedProgram
from sdy.advice.lint.price import Cost
from sdy.cost.collectives import CollectiveKind
from sdy.cost.executions import Visit
from sdy.cost.schedule import CollectiveRun
from sdy.dialects.ir.op_location import span_of
from sdy.model.axis import AxisList

MANY = 8  # collectives of one kind and along the same axes


Runs = Sequence[tuple[Visit, CollectiveRun]]


def many_small_collectives(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield one candidate for the kinds of collectives that run often, and each time only wait for latency."""
    groups = {key: runs for key, runs in _latency_bound(linted).items() if _count(runs) >= MANY}
    if not groups:
        return
    total = sum(map(_count, groups.values()))
    first, _ = next(iter(groups.values()))[0]
    yield Candidate(
        "SDY-S412",
        f"{total} collectives are so small that they only wait for latency",
        Cost(seconds=sum(_avoidable_seconds(runs) for runs in groups.values())),
        span=span_of(first.op),
        subject="latency",
        notes=(
            *(_described(kind, axes, runs) for (kind, axes), runs in groups.items()),
            _advice(visit for runs in groups.values() for visit, _ in runs),
        ),
    )


def _count(runs: Runs) -> int:
    return sum(visit.times for visit, _ in runs)


def _advice(visits: Iterable[Visit]) -> str:
    """Return what to do; only a collective that runs several times may be in a loop."""
    after_the_loop = ", or communicate after the loop" if any(each.times > 1 for each in visits) else ""
    return f"one collective of all their data waits once: stack the tensors{after_the_loop}"


def _latency_bound(linted: LintedProgram) -> dict[tuple[CollectiveKind, AxisList], list[tuple[Visit, CollectiveRun]]]:
    groups: dict[tuple[CollectiveKind, AxisList], list[tuple[Visit, CollectiveRun]]] = {}
    for slot in linted.facts.schedule:
        run = slot.work
        if isinstance(run, CollectiveRun) and run.is_latency_bound and not slot.visit.is_left:
            groups.setdefault((run.kind, run.axes), []).append((slot.visit, run))
    return groups


def _avoidable_seconds(runs: Runs) -> float:
    """Return the seconds of all runs but the longest one."""
    return sum(visit.times * run.seconds for visit, run in runs) - max(run.seconds for _, run in runs)


def _described(kind: CollectiveKind, axes: AxisList, runs: Runs) -> str:
    count = _count(runs)
    average = sum(visit.times * run.bytes_sent for visit, run in runs) / count
    along = ", ".join(map(str, axes))
    return f"{count} {kind.value}s along {along}, {round(average):,} bytes each on average"
