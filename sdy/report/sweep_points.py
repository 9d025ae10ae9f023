"""The points of a sweep: a program on a mesh of a machine, as annotated or as searched, with its time and memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from sdy.cost.quantities import seconds_text
from sdy.diagnostics.diagnostic import Diagnostic
from sdy.diagnostics.wording import counted
from sdy.documents.document import document
from sdy.model.html_repr import HtmlRepr
from sdy.report.tables.fitted_table import WIDTH, fitted_table, tables_text
from sdy.report.tables.program_tables import bytes_text


class Origin(Enum):
    """The origin of the shardings of a point. The enum value is shown to users."""

    ANNOTATED = "annotated"
    SEARCHED = "searched"


@dataclass(frozen=True, slots=True)
class SweepCost:
    """The cost of one device. `gap` is that of the search, if there was one."""

    seconds: float
    communication_seconds: float
    bytes_sent: float
    peak_bytes: int
    free_bytes: float
    gap: float | None = None

    @property
    def fits(self) -> bool:
        """Return whether the peak memory fits into the free memory."""
        return self.peak_bytes <= self.free_bytes


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """A machine, a mesh (`data=4,model=2`), the origin of the shardings, and the cost; or why there is none."""

    machine: str
    mesh: str
    shardings: Origin
    cost: SweepCost | None = None
    problem: str = ""

    def __repr__(self) -> str:
        outcome = self.problem if self.cost is None else seconds_text(self.cost.seconds)
        return f"SweepPoint({self.machine}, {self.mesh}, {self.shardings.value}: {outcome})"


@dataclass(frozen=True, slots=True)
class Sweep(HtmlRepr):
    """The points of a sweep. It is not complete if the user interrupted it.

    `limit` is a warning if ops of the program excluded other meshes, or a search.
    """

    points: Sequence[SweepPoint]
    is_complete: bool = True
    limit: Diagnostic | None = None

    def __repr__(self) -> str:
        return f"Sweep({counted(len(self.points), 'point')}, {len(self.pareto)} of them best)"

    @property
    def pareto(self) -> list[SweepPoint]:
        """The points that fit in memory for which no other point of the machine needs less time and less memory."""
        return [point for point in self.points if self._is_best(point)]

    def ranked(self) -> list[SweepPoint]:
        """Return the points by machine and time: first those that fit, last those without a cost."""

        def key(point: SweepPoint) -> tuple[int, bool, float]:
            if point.cost is None:
                return machines.index(point.machine), True, float("inf")
            return machines.index(point.machine), not point.cost.fits, point.cost.seconds

        machines = list(dict.fromkeys(point.machine for point in self.points))
        return sorted(self.points, key=key)

    def report(self, width: int = WIDTH) -> str:
        """Return a table in plain text, the fastest points first; those of the Pareto front are marked."""
        columns = ("mesh", "shardings", "time", "collectives", "peak bytes", "best")
        machines = dict.fromkeys(point.machine for point in self.points)
        tables = (fitted_table(f"one device of {each}", columns, self._rows(each), (2, 3, 4)) for each in machines)
        return tables_text(tables, self._notes(), width=width)

    def __str__(self) -> str:
        """Return the report, which the command prints."""
        return self.report()

    def to_json(self) -> dict[str, object]:
        """Return the points as plain data."""
        best = self.pareto
        points = [document("SweepPoint", each, is_pareto=each in best) for each in self.ranked()]
        return document("Sweep", self, points=points, limit=None if self.limit is None else self.limit.message)

    def _is_best(self, point: SweepPoint) -> bool:
        own = point.cost
        if own is None or not own.fits:
            return False
        others = [each.cost for each in self.points if each.machine == point.machine and each.cost is not None]
        return not any(
            (other.seconds, other.peak_bytes) != (own.seconds, own.peak_bytes)
            and other.fits
            and other.seconds <= own.seconds
            and other.peak_bytes <= own.peak_bytes
            for other in others
        )

    def _rows(self, machine: str) -> Iterator[tuple[str, ...]]:
        best = self.pareto
        for point in self.ranked():
            cost = point.cost
            if point.machine != machine:
                continue
            place = point.mesh.replace(",", ", "), point.shardings.value
            if cost is None:
                yield *place, "failed", "", "", ""
                continue
            times = seconds_text(cost.seconds), seconds_text(cost.communication_seconds)
            mark = "*" if point in best else "" if cost.fits else "too large"
            yield *place, *times, bytes_text(cost.peak_bytes), mark

    def _notes(self) -> Iterator[str]:
        yield "* no other point of the machine needs less time and less memory"
        for point in self.ranked():
            if point.problem:
                yield f"{point.machine}, {point.mesh}, {point.shardings.value}: {point.problem}"
        if self.limit is not None:
            yield self.limit.message
        if not self.is_complete:
            yield "The sweep was interrupted."
