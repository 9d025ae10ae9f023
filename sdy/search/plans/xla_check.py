"""Compile a program with XLA as it was and with what is pasted of a plan, and compare collectives, bytes and values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sdy.compile.written_program import WrittenProgram
from sdy.cost.collectives import CollectiveKind
from sdy.cost.program_cost import ProgramCost
from sdy.documents.document import document
from sdy.evidence.partitioners.runs import partitioner_results
from sdy.evidence.partitioners.table import PartitionerResult, results_table
from sdy.evidence.runs.arrays import random_inputs
from sdy.report.reported import Reported
from sdy.report.tables.fitted_table import FittedTable
from sdy.report.tables.program_tables import bytes_text

XLA = "xla"


@dataclass(frozen=True, slots=True)
class XlaCheck(Reported):
    """The results of sdy and of XLA for a program as it was, for the shardings of a plan, and with its constraints.

    `rules` and `xla_rules` are those with the shardings of arguments and results alone, which are those of the plan if
    it has no constraints.
    """

    before: PartitionerResult
    xla_before: PartitionerResult
    rules: PartitionerResult
    xla_rules: PartitionerResult
    plan: PartitionerResult
    xla_plan: PartitionerResult

    @property
    def agrees(self) -> bool | None:
        """True if XLA and sdy compute the values of one device for every program; None if the programs did not run."""
        results = self._results().values()
        if not any(each.problem or each.comparisons for each in results):
            return None
        return all(not each.problem and all(one.agrees for one in each.comparisons) for each in results)

    @property
    def bytes_ratio(self) -> float | None:
        """The bytes that XLA sends with the plan, as a multiple of those without it; None if it sends none without."""
        before, plan = self.xla_before.statistics, self.xla_plan.statistics
        if before is None or plan is None or not before.bytes_sent:
            return None
        return plan.bytes_sent / before.bytes_sent

    @property
    def most_bytes(self) -> float | None:
        """The bytes that XLA sends before, if it sends more with the shardings of arguments and results, else None."""
        before, rules = self.xla_before.statistics, self.xla_rules.statistics
        return before.bytes_sent if before and rules and rules.bytes_sent > before.bytes_sent else None

    @property
    def warnings(self) -> list[str]:
        """Say where XLA sends more bytes than before, though sdy sends no more; and where it failed."""
        found = [f"{title}: {each.problem}" for title, each in self._results().items() if each.problem]
        pairs = [("the shardings of arguments and results", self.rules, self.xla_rules)]
        if self.plan is not self.rules:
            pairs.append(("the constraints too", self.plan, self.xla_plan))
        for what, ours, xla in pairs:
            known = [each.statistics for each in (self.before, ours, self.xla_before, xla)]
            sent = [each.bytes_sent for each in known if each is not None]
            if len(sent) == len(known) and sent[1] <= sent[0] and sent[3] > sent[2]:
                amounts = f"it sends {bytes_text(sent[3])} bytes, and {bytes_text(sent[2])} before"
                found.append(f"XLA does not follow the plan: with {what}, {amounts}.")
        return found

    def __repr__(self) -> str:
        verdict = {None: "not run", True: "agrees", False: "differs"}[self.agrees]
        return f"XlaCheck({verdict}; {', '.join(map(repr, self._results().values()))})"

    def _tables(self) -> Sequence[FittedTable]:
        return [results_table("on one device", self._results())]

    def _notes(self) -> Iterable[str]:
        return self.warnings

    def to_json(self) -> dict[str, object]:
        """Return the results as plain data."""
        return document("XlaCheck", self)

    def _results(self) -> dict[str, PartitionerResult]:
        """Return the results by title; those without constraints only if there are some."""
        found = {"before, sdy": self.before, "before, XLA": self.xla_before}
        if self.rules is not self.plan:
            found |= {"rules, sdy": self.rules, "rules, XLA": self.xla_rules}
        return found | {"plan, sdy": self.plan, "plan, XLA": self.xla_plan}


def bytes_on_host(cost: ProgramCost) -> float:
    """Return the bytes that XLA sends on a host, where a reduce-scatter is an all-reduce, of which each keeps a part.

    `cost` is that of the program without the communication optimizer.
    """
    scattered = [each for each in cost.collectives if each.kind is CollectiveKind.REDUCE_SCATTER]
    return cost.bytes_sent + sum(each.bytes_sent for each in scattered)


def check_xla(
    before: WrittenProgram[Any],
    rules: WrittenProgram[Any],
    plan: WrittenProgram[Any],
    seed: int,
    seconds: float,
    *,
    run: bool,
) -> XlaCheck:
    """Partition versions of a program with sdy and XLA, and compare their values on random inputs from `seed`.

    `rules` is `plan` if that has no constraints. Each version has `seconds` of time. Without `run`, values are not
    compared: large programs take long on a host.
    Raises: SdyError SDY-T205 if JAX is not installed.
    """
    inputs = random_inputs(plan.module, seed) if run else ()
    found = [partitioner_results(each, [XLA], inputs, seconds, is_run=run) for each in (before, rules)]
    found.append(found[1] if rules is plan else partitioner_results(plan, [XLA], inputs, seconds, is_run=run))
    (first, xla_first), (second, xla_second), (third, xla_third) = found
    return XlaCheck(first, xla_first, second, xla_second, third, xla_third)
