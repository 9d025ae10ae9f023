"""`print()` of a result is the text of the command that computes it."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from pathlib import Path

import pytest
from support.examples import EXAMPLES

import sdy
from sdy.cost.statistics import statistics_of
from sdy.tools.main import main

(PATH,) = (path for path in EXAMPLES if path.stem == "matmul_case2")


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (("cost", "--on", "h100", "--minimize", "bytes"), methodcaller("cost", "h100")),
        (("lint",), methodcaller("lint")),
        (("report",), methodcaller("report")),
    ],
    ids=["cost", "lint", "report"],
)
def test_a_result_is_printed_as_by_the_command(
    words: tuple[str, ...],
    result: Callable[[sdy.Program], object],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    main([words[0], str(PATH), *words[1:]])
    printed = capsys.readouterr().out
    found = str(result(sdy.load(PATH)))
    messages = [line for line in found.splitlines() if "warning: " in line] or found.splitlines()
    assert [line for line in messages if line not in printed] == []


def test_results_without_a_command_of_their_own_are_tables(tmp_path: Path) -> None:
    program = sdy.load(PATH)
    applied = program.apply(sdy.replicate("arg0"))
    results = [statistics_of(program.partition().local), applied, program.search(time_limit=1)]
    assert all("┏━" in str(result) and "┏━" not in repr(result) for result in results)
    assert str(applied) == applied.report()
