"""A command exits silently with a code of its own when its output is closed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.examples import EXAMPLES

from sdy.tools.command_line.exit_codes import BROKEN_PIPE

SMALL = [path for path in EXAMPLES if path.stem in ("matmul_case2", "matmul_case3")]
FILE, OTHER = map(str, SMALL)
ARRAYS = SMALL[0].with_suffix(".npz")


@pytest.mark.parametrize(
    "words",
    [
        ["sdy.tools.main", "explain", FILE, "--conflicts"],
        ["sdy.tools.main", "partition", FILE],
        ["sdy.tools.main", "verify", FILE],
        ["sdy.tools.main", "verify", FILE, OTHER],
        ["sdy.tools.main", "cost", FILE, "--on", "h100"],
        ["sdy.tools.main", "report", FILE],
        ["sdy.tools.main", "report", FILE, "--html", "-"],
        ["sdy.tools.main", "partition", FILE, "--stats", "table"],
        ["sdy.tools.main", "--help"],
        ["sdy.tools.main", "explain", "--help"],
        ["sdy.tools.sdy_opt", FILE],
        ["sdy.tools.sdy_opt", "--list-passes"],
        ["sdy.tools.sdy_run", "--help"],
        ["sdy.tools.sdy_run", FILE, f"--inputs={ARRAYS}", "--devices-table"],
    ],
    ids=" ".join,
)
def test_a_closed_pipe_is_not_an_error(words: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as errors:
        assert errors.read() == ""
    assert process.wait() == BROKEN_PIPE


def test_closed_errors_are_not_an_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "sdy.tools.main", "verify", "none.mlir"], stderr=writer, check=False)
    os.close(writer)
    assert done.returncode == BROKEN_PIPE
