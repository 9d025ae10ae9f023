"""The results of several partitioners for one program, and their table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sdy.cost.collectives import CollectiveKind
from sdy.cost.statistics import Statistics
from sdy.documents.document import document
from sdy.evidence.runs.comparison import OutputComparison, verdict
from sdy.report.reported import Reported
from sdy.report.tables.fitted_table import FittedTable, fitted_table
from sdy.report.tables.program_tables import bytes_text


@dataclass(frozen=True, slots=True)
class PartitionerResult:
    """The program that a partitioner made: its statistics and its results.

    `statistics` are those of one device, and None if the partitioner failed. `comparisons` are those of the outputs
    with a run on one device. If the partitioner failed, or the outputs are not compared, `problem` says why.
    """

    partitioner: str
    statistics: Statistics | None = None
    comparisons: Sequence[OutputComparison] = ()
    problem: str = ""

    def __repr__(self) -> str:
        """Return one line: the bytes sent and the verdict, or the problem."""
        sent = "" if self.statistics is None else f"{self.statistics.bytes_sent:,.0f} bytes sent, "
        return f"PartitionerResult({self.partitioner}: {sent}{self.problem or verdict(self.comparisons)})"

    def to_json(self) -> dict[str, object]:
        """Return the result as plain data."""
        return document("ComparedPartitioner", self, outputs=self.comparisons)


class PartitionerResults(Reported, list[PartitionerResult]):
    """The results of several partitioners for one program. `note` says why they did not run, if that was not asked."""

    def __init__(self, results: Iterable[PartitionerResult] = (), note: str = "") -> None:
        super().__init__(results)
        self.note = note

    def __repr__(self) -> str:
        return f"PartitionerResults({', '.join(each.partitioner for each in self)})"

    def _notes(self) -> list[str]:
        return [*(f"{each.partitioner}: {each.problem}" for each in self if each.problem), *filter(None, [self.note])]

    def _tables(self) -> Sequence[FittedTable]:
        return [results_table("on one device", {each.partitioner: each for each in self})]


def results_table(title: str, results: Mapping[str, PartitionerResult]) -> FittedTable:
    """Return a table with a column per result: collectives, bytes, FLOPs, memory, and whether the outputs agree."""
    found = list(results.values())
    rows = [
        *((kind.value, *(_collectives(each, kind) for each in found)) for kind in _used_kinds(found)),
        ("bytes sent", *(_number(each, "bytes_sent") for each in found)),
        ("FLOPs of products", *(_number(each, "flops") for each in found)),
        ("peak memory in bytes", *(_number(each, "peak_bytes") for each in found)),
        ("results", *(_outputs(each) for each in found)),
    ]
    return fitted_table(title, ("", *results), rows, right=tuple(range(1, len(found) + 1)))


def _used_kinds(results: Sequence[PartitionerResult]) -> list[CollectiveKind]:
    used = {kind for each in results if each.statistics is not None for kind in each.statistics.collectives}
    return [kind for kind in CollectiveKind if kind in used]


def _collectives(result: PartitionerResult, kind: CollectiveKind) -> str:
    """Return how often collectives of a kind run."""
    if result.statistics is None:
        return ""
    found = result.statistics.collectives.get(kind)
    return "0" if found is None else str(found.runs)


def _number(result: PartitionerResult, name: str) -> str:
    return "" if result.statistics is None else bytes_text(getattr(result.statistics, name))


def _outputs(result: PartitionerResult) -> str:
    if not result.comparisons:
        return "failed" if result.statistics is None else "not compared"
    wrong = sum(not each.agrees for each in result.comparisons)
    return f"{wrong} of {len(result.comparisons)} differ" if wrong else "agree"
