"""The first screen of five programs: short, with the diagnosis that saves most, whose edit holds when it is applied.

The edit is compared with those that `lint` proposes for the program as `jax.jit` lowers it, and `why_not` for weights.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import pytest
from support.jax_programs.today_models import LlamaSizes, llama, mesh_of
from support.training_steps.library_steps import STEPS, missing_library
from support.training_steps.training_step import FIRST, TrainingStep

import sdy
from sdy.advice.edits import edited
from sdy.advice.lint.settings import LintSettings
from sdy.advice.why_not import WhyNot
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sharded_types import static_shape
from sdy.program.program import Program

pytestmark = [pytest.mark.jax, pytest.mark.corpus]

MACHINE = "tpu_v5e"
MOST_LINES, TRIALS = 60, 10
MOST_ASKED = 2  # weights


class Screen(NamedTuple):
    """A training step, and the share of the bytes of `jax.jit` that the edit of its diagnosis must save."""

    name: str
    saves: float


SCREENS = [
    pytest.param(Screen("mixture_of_experts", 0.75), id="mixture_of_experts"),
    pytest.param(Screen("graph_network", 0.1), id="graph_network", marks=pytest.mark.slow),
    pytest.param(Screen("linen_transformer", 0.5), id="linen_transformer", marks=pytest.mark.slow),
    pytest.param(Screen("griffin", 0.6), id="griffin", marks=pytest.mark.slow),
]


@cache
def step_of(name: str) -> TrainingStep:
    if (missing := missing_library(name)) is not None:
        pytest.skip(f"{missing} is not installed")
    return STEPS[name][0]()


def sent(program: Program[Any]) -> float:
    """Return the bytes that each device sends as `jax.jit` lowers the program."""
    return program.without_optimizer().cost(MACHINE).bytes_sent


def rules_shown(report: str) -> dict[str, Any]:
    """Return the rules that a report shows as the edit of its diagnosis."""
    from jax.sharding import PartitionSpec

    found = re.search(r"edit: rules = (\{.*?\})", report, re.DOTALL)
    assert found is not None, report
    return eval(found[1], {"P": PartitionSpec})  # as a reader would paste it


@pytest.mark.parametrize("screen", SCREENS)
def test_the_edit_of_the_first_screen_saves_most(screen: Screen) -> None:
    step = step_of(screen.name)
    program = step.program(FIRST)
    report = program.report(MACHINE)
    assert len(report.splitlines()) <= MOST_LINES, report
    assert "diagnosis: " in report
    before = sent(program)
    saved = before - sent(step.program_with(rules_shown(report)))
    assert saved >= screen.saves * before
    assert max(other_savings(program), default=0.0) <= saved


def other_savings(program: Program[Any]) -> list[float]:
    """Return what the edits of `lint` save, and those of `why_not` for the first weights."""
    lowered = program.without_optimizer()
    linted = lowered.lint(LintSettings(on=MACHINE, trials=TRIALS, time_limit=60.0)).findings
    found = [each.fix.saved.bytes_sent for each in linted if each.fix is not None]
    before = sent(program)
    asked = WhyNot(lowered.partition_summary(MACHINE).explainer)
    for argument in main_function(lowered.module).body.block.args[:MOST_ASKED]:
        for dim in range(len(static_shape(argument.type) or ())):
            for axis in ("data", "model"):
                suggestion = asked.reasons(argument, dim, axis).suggestion
                if suggestion is not None:
                    module, _ = edited(lowered.module, [suggestion.edit])
                    found.append(before - sent(Program.from_module(module)))
    return found


@pytest.mark.slow
def test_the_first_screen_of_a_llama_of_7b_says_that_it_does_not_fit() -> None:
    sizes = LlamaSizes(32, 4096, 11_008, 32, 32, 128, 32_000, batch=16, sequence=2_048)
    model = llama(sizes, mesh_of(data=2, fsdp=2, tensor=2))
    report = sdy.from_jax(model.step, *model.arguments).report(MACHINE)
    assert len(report.splitlines()) <= MOST_LINES, report
    assert "diagnosis: each device holds 122 GB in jax.jit, 106 GB more than one of tpu_v5e has" in report


def test_the_first_gather_has_its_cause() -> None:
    report = step_of("mixture_of_experts").program(FIRST).report(MACHINE)
    assert re.search(r'all-gather along "model" \(conflict: line \d+\s+\(flax_linen.py:\d+\): dim', report), report
