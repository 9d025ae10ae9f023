"""The line of a terminal that says what runs now."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable

import pytest
from support.examples import EXAMPLES

from sdy.diagnostics.progress import listening, note_step, stage
from sdy.report import progress_line
from sdy.report.progress_line import show_progress
from sdy.tools.main import main

CLEAR = "\r\033[K"


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def use_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Return a function that makes both standard streams a terminal; pytest replaces them before each test."""

    def installed() -> Terminal:
        found = Terminal()
        monkeypatch.setattr(sys, "stderr", found)
        monkeypatch.setattr(sys, "stdout", found)
        return found

    return installed


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_steps_are_part_of_stages() -> None:
    found: list[str] = []
    note_step("nobody listens")
    with listening(found.append):
        note_step("first")
        with stage("second"):
            note_step("a")
            with stage("b"):
                note_step("c")
        note_step("third")
    note_step("nobody listens again")
    assert found == ["first", "second", "second: a", "second: b", "second: b: c", "third"]


def test_a_stage_that_fails_ends() -> None:
    found: list[str] = []
    with listening(found.append):
        with pytest.raises(ValueError, match="no"), stage("fails"):
            raise ValueError("no")
        note_step("next")
    assert found == ["fails", "next"]


def test_the_line_is_shown_after_the_delay_and_removed(use_terminal: Callable[[], Terminal]) -> None:
    terminal = use_terminal()
    with show_progress(delay=0.05):
        note_step("long step")
        wait_for(lambda: "0 s: long step" in terminal.getvalue())
    assert terminal.getvalue().endswith(CLEAR)
    assert sys.stderr is terminal


def test_output_is_on_a_line_of_its_own(use_terminal: Callable[[], Terminal]) -> None:
    terminal = use_terminal()
    with show_progress(delay=0.05):
        note_step("long step")
        wait_for(lambda: "long step" in terminal.getvalue())
        print("result")
        assert terminal.getvalue().endswith(f"{CLEAR}result\n")
        time.sleep(2 * progress_line.INTERVAL)
        assert terminal.getvalue().endswith("result\n")  # until the next step
        note_step("another")
        wait_for(lambda: "another" in terminal.getvalue())


def test_a_long_step_is_cut_to_the_width_of_the_terminal(
    use_terminal: Callable[[], Terminal], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = use_terminal()
    monkeypatch.setenv("COLUMNS", "20")
    with show_progress(delay=0.05):
        note_step("x" * 100)
        wait_for(lambda: "x" in terminal.getvalue())
    assert max(len(part) for part in terminal.getvalue().split(CLEAR)) == 19


def test_short_computations_show_nothing(use_terminal: Callable[[], Terminal]) -> None:
    terminal = use_terminal()
    with show_progress():
        note_step("short step")
    assert terminal.getvalue() == ""


def test_commands_show_their_passes(use_terminal: Callable[[], Terminal]) -> None:
    steps: list[str] = []
    terminal = use_terminal()
    with listening(steps.append):
        assert main(["partition", str(EXAMPLES[0])]) == 0
    assert steps[0] == f"read {EXAMPLES[0]}"
    assert "sdy-optimize-communication" in steps
    assert "func.func public @main" in terminal.getvalue()
