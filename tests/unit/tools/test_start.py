"""The console scripts end their process as Python would, except that they do not free its memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """import atexit
atexit.register(print, "at exit")
from sdy.tools.start import {tool}
{tool}()
print("not reached")
"""


@pytest.mark.parametrize("tool", ["sdy", "sdy_opt", "sdy_run"])
@pytest.mark.parametrize(("argument", "code"), [("--version", 0), ("--no-such-option", None)])
def test_exit_functions_run_and_all_output_is_written(tool: str, argument: str, code: int | None) -> None:
    command = [sys.executable, "-c", SCRIPT.format(tool=tool), argument]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.endswith("at exit\n")
    assert "not reached" not in done.stdout
    assert (done.returncode == code) if code == 0 else (done.returncode > 0)
    assert bool(done.stderr) is (code is None)
