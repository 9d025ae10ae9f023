"""Plans for training steps of libraries, as pasted, make XLA send fewer bytes; and XLA sends what was predicted.

The steps have the widths of real models: XLA compiles them, and nothing runs. docs/guides/search.md has the table.
"""

from __future__ import annotations

from functools import cache

import pytest
from support.training_steps.library_steps import STEPS, missing_library
from support.training_steps.measure import (
    OrderMeasurement,
    PlanMeasurement,
    geometric_mean,
    measured_order,
    measured_plan,
)
from support.training_steps.training_step import FIRST, TrainingStep

pytestmark = [pytest.mark.jax, pytest.mark.corpus]

QUICK = "mixture_of_experts"  # of a few hundred ops
INSTALLED = [name for name in STEPS if missing_library(name) is None]
MOST_LINES, MOST_GAP = 25, 0.05
SECONDS = 120.0  # for the search of a step


@cache
def step_of(name: str) -> TrainingStep:
    if name not in INSTALLED:
        pytest.skip(f"{missing_library(name)} is not installed")
    return STEPS[name][0]()


@cache
def plan_of(name: str) -> PlanMeasurement:
    return measured_plan(name, step_of(name), SECONDS)


@cache
def order_of(name: str) -> OrderMeasurement:
    return measured_order(name, step_of(name))


def test_xla_sends_fewer_bytes_with_a_plan_that_is_found_in_seconds() -> None:
    found = measured_plan(QUICK, step_of(QUICK), 6.0)
    assert found.ratio <= 0.7
    assert found.lines <= MOST_LINES


def test_xla_sends_what_was_predicted() -> None:
    found = measured_order("graph_network", step_of("graph_network"), (FIRST, "data"))
    assert found.agreeing == found.pairs == 1
    assert found.predicted["data"] == pytest.approx(found.sent["data"], rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_the_plan_of_a_training_step_is_short_and_xla_sends_fewer_bytes(name: str) -> None:
    found = plan_of(name)
    assert found.ratio < 1, found
    assert found.lines <= MOST_LINES, found.code
    assert found.gap is not None
    assert found.gap <= MOST_GAP


@pytest.mark.slow
def test_plans_halve_the_bytes_of_xla() -> None:
    assert geometric_mean([plan_of(name).ratio for name in INSTALLED]) <= 0.5


@pytest.mark.slow
def test_the_order_of_shardings_is_that_of_xla() -> None:
    found = [order_of(name) for name in INSTALLED]
    assert sum(each.agreeing for each in found) >= 0.9 * sum(each.pairs for each in found)
