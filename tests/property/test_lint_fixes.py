"""Fixes of the linter, on random programs: none raises a total or changes a value, and a fixed program has none left.

A few programs by default; `pytest -m slow` tries a hundred.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.random_programs.program import random_program

import sdy
from sdy.advice.lint.settings import LintSettings
from sdy.diagnostics.diagnostic import SdyError
from sdy.program.program import Program

SEEDS = range(6, 8)
SETTINGS = LintSettings(trials=3, shows_small=True)  # few, so that the test is fast; the programs are small


def programs(seeds: range) -> Iterator[Program]:
    """Yield the programs that can be partitioned, and that compute the same as on one device."""
    for seed in seeds:
        program = sdy.Program.from_text(random_program(seed), "random.mlir")
        try:
            if all(output.agrees for output in program.verify()):
                yield program
        except SdyError:
            continue  # random annotations may contradict each other, and some ops cannot run


@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(range(100), marks=pytest.mark.slow)], ids=["few", "many"])
def test_fixes_lower_totals_keep_values_and_leave_nothing_to_fix(seeds: range) -> None:
    applied = 0
    for program in programs(seeds):
        fixed, findings = program.with_lint_fixes(SETTINGS)
        before, after = program.lint(SETTINGS).price, fixed.lint(SETTINGS).price
        assert after.is_at_most(before)
        assert (after == before) == (not findings)
        assert all(output.agrees for output in fixed.verify())
        assert not sdy.Program.from_text(str(fixed), "random.mlir").with_lint_fixes(SETTINGS)[1]
        applied += len(findings)
    assert applied > 0
