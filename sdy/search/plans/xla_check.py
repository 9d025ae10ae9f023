"""Compile a program with XLA with and without a plan, and compare collectives, bytes and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from rich.console import Console

from sdy.compile.written_program import WrittenProgram
from sdy.evidence.partitioners.runs import partitioner_results
from sdy.evidence.partitioners.table import PartitionerResult, results_table
from sdy.evidence.runs.arrays import random_inputs
from sdy.report.html.fragment import tables_html
from sdy.report.program_report import WIDTH
from sdy.report.tables.fitted_table import FittedTable, print_tables

XLA = "xla"
TITLES = ("before, sdy", "before, XLA", "plan, sdy", "plan, XLA")


@dataclass(frozen=True, slots=True)
class XlaCheck:
    """The results of sdy and of XLA for a program as it was, and for the plan."""

    before: PartitionerResult
    xla_before: PartitionerResult
    plan: PartitionerResult
    xla_plan: PartitionerResult

    @property
    def agrees(self) -> bool:
        """Return whether XLA and sdy compute the same values as one device, with and without the plan."""
        return all(not each.problem and all(one.agrees for one in each.comparisons) for each in self._results)

    @property
    def bytes_ratio(self) -> float | None:
        """The bytes that XLA sends with the plan, as a multiple of those without it; None if it sends none without."""
        before, plan = self.xla_before.statistics, self.xla_plan.statistics
        if before is None or plan is None or not before.bytes_sent:
            return None
        return plan.bytes_sent / before.bytes_sent

    def report(self, width: int = WIDTH) -> str:
        """Return a table in plain text."""
        console = Console(file=StringIO(), width=width, highlight=False)
        print_tables(console, self._table())
        for line in self._problems():
            console.print(line, markup=False)
        assert isinstance(console.file, StringIO)
        return console.file.getvalue()

    def __repr__(self) -> str:
        return f"XlaCheck({'agrees' if self.agrees else 'differs'}; {', '.join(map(repr, self._results))})"

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return tables_html(repr(self), [self._table()], self._problems())

    def _table(self) -> FittedTable:
        return results_table("on one device", dict(zip(TITLES, self._results, strict=True)))

    def _problems(self) -> Iterator[str]:
        for title, each in zip(TITLES, self._results, strict=True):
            if each.problem:
                yield f"{title}: {each.problem}"

    def to_json(self) -> dict[str, object]:
        """Return the results as plain data."""
        names = ("before", "xla_before", "plan", "xla_plan")
        return {name: each.to_json() for name, each in zip(names, self._results, strict=True)}

    @property
    def _results(self) -> Sequence[PartitionerResult]:
        return self.before, self.xla_before, self.plan, self.xla_plan


def check_xla(
    before: WrittenProgram[Any], plan: WrittenProgram[Any], seed: int, seconds: float, *, run: bool
) -> XlaCheck:
    """Partition two versions of a program with sdy and XLA, and compare their values on random inputs from `seed`.

    Without `run`, values are not compared: large programs take long on a host.
    Raises: SdyError SDY-T205 if JAX is not installed.
    """
    inputs = random_inputs(plan.module, seed) if run else ()
    first, second = (partitioner_results(each, [XLA], inputs, seconds, is_run=run) for each in (before, plan))
    return XlaCheck(first[0], first[1], second[0], second[1])
