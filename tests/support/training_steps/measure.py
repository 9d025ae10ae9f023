"""Measures what XLA sends in training steps: before and after the plan of a search, and with shardings by hand.

`python -m support.training_steps.measure NAME ... [--seconds 60]`, in the folder `tests`, prints the rows of the table
in docs/guides/search.md, and how often the predicted order of two shardings is that of XLA. Without names, all steps.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, log
from typing import Any

from sdy.evidence.partitioners.runs import partitioner_results
from sdy.evidence.partitioners.table import PartitionerResult
from sdy.program.program import Program
from sdy.search.plans.xla_check import bytes_on_host
from support.training_steps.library_steps import STEPS, missing_library
from support.training_steps.training_step import FIRST, SHARDINGS, TrainingStep

MACHINE = "tpu_v5e"
XLA_SECONDS = 400.0
ONE = 1.0  # byte, for a plan with which nothing is sent


@dataclass(frozen=True)
class PlanMeasurement:
    """The bytes that each device sends in XLA with the first sharding and with the plan, and the plan as printed."""

    name: str
    before: float
    planned: float
    gap: float | None
    code: str

    @property
    def ratio(self) -> float:
        """The bytes with the plan, per byte before."""
        return max(self.planned, ONE) / self.before

    @property
    def lines(self) -> int:
        """The number of lines of the plan."""
        return len(self.code.splitlines())

    def __str__(self) -> str:
        gap = "" if self.gap is None else f"{self.gap:.1%}"
        sent = f"{self.before / 1e6:,.1f} | {self.planned / 1e6:,.1f} | {self.ratio:.2f}"
        return f"| {self.name} | {sent} | {gap} | {self.lines} |"


@dataclass(frozen=True)
class OrderMeasurement:
    """The predicted bytes of each of `SHARDINGS`, and those of XLA."""

    name: str
    predicted: Mapping[str, float]
    sent: Mapping[str, float]

    @property
    def pairs(self) -> int:
        """The number of pairs of shardings with which XLA sends different bytes."""
        return len(list(self._pairs()))

    @property
    def agreeing(self) -> int:
        """The number of pairs whose predicted order is that of XLA."""
        return sum((self.predicted[a] < self.predicted[b]) is (self.sent[a] < self.sent[b]) for a, b in self._pairs())

    def _pairs(self) -> Iterator[tuple[str, str]]:
        return ((a, b) for a, b in combinations(self.sent, 2) if self.sent[a] != self.sent[b])

    def __str__(self) -> str:
        rows = (f"{each} {self.predicted[each] / 1e6:,.1f}/{self.sent[each] / 1e6:,.1f}" for each in self.sent)
        return f"{self.name}: {self.agreeing} of {self.pairs} pairs; predicted/sent MB: {', '.join(rows)}"


def measured_plan(name: str, step: TrainingStep, seconds: float) -> PlanMeasurement:
    """Search a step that begins with the first sharding from scratch, and compile it with XLA with what is pasted."""
    before = step.program(FIRST)
    plan = before.search(on=MACHINE, from_scratch=True, time_limit=seconds)
    return PlanMeasurement(name, xla_bytes(before), xla_bytes(plan.rules_program), plan.gap, plan.code)


def measured_order(name: str, step: TrainingStep, shardings: Sequence[str] = tuple(SHARDINGS)) -> OrderMeasurement:
    """Predict the bytes of a step with some shardings, and compile it with them."""
    programs = {each: step.program(each).without_optimizer() for each in shardings}
    predicted = {each: bytes_on_host(program.cost(MACHINE)) for each, program in programs.items()}
    return OrderMeasurement(name, predicted, {each: xla_bytes(program) for each, program in programs.items()})


def xla_bytes(program: Program[Any]) -> float:
    """Return the bytes that each device sends when XLA has compiled a program."""
    results: list[PartitionerResult] = partitioner_results(
        program.without_optimizer(), ["xla"], (), XLA_SECONDS, is_run=False
    )
    statistics = results[1].statistics
    assert statistics is not None, results[1].problem
    return statistics.bytes_sent


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean of ratios."""
    return exp(sum(map(log, ratios)) / len(ratios))


def main(arguments: Sequence[str]) -> None:
    """Measure the steps that the command line names."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(STEPS))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", choices=["plans", "orders"])
    options = parser.parse_args(arguments)
    plans: list[PlanMeasurement] = []
    orders: list[OrderMeasurement] = []
    for name in options.names:
        if missing_library(name) is not None:
            continue
        step = STEPS[name][0]()
        if options.only != "orders":
            plans.append(measured_plan(name, step, options.seconds))
            print(plans[-1], flush=True)
        if options.only != "plans":
            orders.append(measured_order(name, step))
            print(orders[-1], flush=True)
    if plans:
        print(f"geometric mean of the ratios: {geometric_mean([each.ratio for each in plans]):.3f}")
    if orders:
        print(f"{sum(each.agreeing for each in orders)} of {sum(each.pairs for each in orders)} pairs agree")


if __name__ == "__main__":
    main(sys.argv[1:])
