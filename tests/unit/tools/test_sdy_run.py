"""`sdy-run`: interrupts, progress, and the locations of errors."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from rich.console import Console
from support.execution.run_text import f32

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import parse_module
from sdy.interpreter.run import RunSettings, interpret
from sdy.report.run_progress import DELAY, RunProgress
from sdy.tools.command_line.exit_codes import INTERRUPTED
from sdy.tools.sdy_run import main

# A loop whose values repeat after 2**32 iterations: one in which they repeat at once is an error.
ENDLESS = """
func.func @main() -> tensor<i32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  interpreter.print %c : tensor<i32>
  %0 = stablehlo.while(%i = %c) : tensor<i32>
  cond {
    %p = stablehlo.compare GT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %q = stablehlo.not %p : tensor<i1>
    stablehlo.return %q : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next : tensor<i32>
  }
  return %0 : tensor<i32>
}
"""
TWO_OPS = """
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %a : tensor<2xf32>
  %1 = stablehlo.tanh %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}
"""


@contextmanager
def endless_run(folder: Path, output: int, errors: int) -> Generator[subprocess.Popen[bytes]]:
    """Start a run that only Ctrl-C ends, with the default SIGINT handler, which background processes ignore."""
    path = folder / "endless.mlir"
    path.write_text(ENDLESS)
    command = [sys.executable, "-m", "sdy.tools.sdy_run", str(path)]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with subprocess.Popen(command, stdout=output, stderr=errors, env=environment) as process:
            try:
                yield process
            finally:
                process.kill()
    finally:
        signal.signal(signal.SIGINT, heard)


def test_control_c_ends_a_run_silently(tmp_path: Path) -> None:
    with endless_run(tmp_path, subprocess.PIPE, subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"%c = tensor<i32> {1}\n"  # so that the loop is about to begin
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == INTERRUPTED == 130
    assert errors == b""


def test_a_terminal_shows_the_progress_of_a_long_run(tmp_path: Path) -> None:
    terminal, other_end = pty.openpty()
    with endless_run(tmp_path, subprocess.DEVNULL, other_end) as process:
        os.close(other_end)
        seen = b""
        while b"stablehlo.compare" not in seen:
            seen += os.read(terminal, 1024)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    os.close(terminal)
    assert process.returncode == INTERRUPTED
    assert b"2/4" in seen


@pytest.mark.parametrize(("step", "is_shown"), [(DELAY / 10, False), (DELAY, True)])
def test_the_progress_bar_is_shown_after_a_delay(step: float, is_shown: bool) -> None:
    seconds = count(step=step)
    module = parse_module(TWO_OPS)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with RunProgress(main_function(module), console, lambda: float(next(seconds))) as progress:
        interpret(module, [f32(1, 2)], settings=RunSettings(progress.observe))
    assert ("stablehlo.tanh" in screen.getvalue()) == is_shown


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("func.func @main() {\n  %0 = stablehlo.ad\n  return\n}", ":2:8: error: ", "stablehlo.ad"),
        ("func.func @main() {\n  func.call @gone() : () -> ()\n  return\n}", ":2:3: error: ", "gone"),
        (
            "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
            "  %0 = stablehlo.custom_call @unheard(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
            "  return %0 : tensor<2xf32>\n}",
            ":2:8: error: ",
            "@unheard",
        ),
    ],
)
def test_an_invalid_module_is_one_diagnostic_with_its_line(
    text: str, place: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(text)
    assert main([str(path), "--args=[dense<0.0> : tensor<2xf32>]" if "%a" in text else "--args=[]"]) == 1
    errors = capsys.readouterr().err
    assert errors.count("error: ") == 1
    assert errors.startswith(f"{path}{place}")
    assert message in errors.splitlines()[0]
    assert text.splitlines()[1] in errors


def test_a_function_without_a_body_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "declared.mlir"
    path.write_text("func.func private @main(tensor<4xf32>) -> tensor<4xf32>\n")
    assert main([str(path)]) != 0
    assert "expected a body of the entry function @main, got a declaration [SDY-T101]" in capsys.readouterr().err
