"""A command exits silently when its standard output is closed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.examples import EXAMPLES

FILE = str(EXAMPLES[0])


@pytest.mark.parametrize(
    "words",
    [
        ["sdy.tools.main", "explain", FILE, "--conflicts"],
        ["sdy.tools.main", "partition", FILE],
        ["sdy.tools.main", "verify", FILE],
        ["sdy.tools.main", "--help"],
        ["sdy.tools.main", "explain", "--help"],
        ["sdy.tools.sdy_opt", FILE],
        ["sdy.tools.sdy_opt", "--list-passes"],
        ["sdy.tools.sdy_run", "--help"],
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
    process.wait()
