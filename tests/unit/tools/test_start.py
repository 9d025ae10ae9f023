"""The console scripts end their process as Python would, except that they do not free its memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """import atexit, gc, sys
thresholds = gc.get_threshold()
atexit.register(print, "at exit")
from sdy.tools.start import {tool}
code = {tool}()
print("returned", gc.get_threshold() == thresholds)
sys.exit(code)
"""


@pytest.mark.parametrize("tool", ["sdy", "sdy_opt", "sdy_run"])
@pytest.mark.parametrize(("argument", "has_failed"), [("--version", False), ("--no-such-option", True)])
@pytest.mark.parametrize("is_script", [True, False])
def test_a_script_ends_its_process_after_all_output(
    tool: str, argument: str, has_failed: bool, is_script: bool, tmp_path: Path
) -> None:
    script = tmp_path / (tool.replace("_", "-") if is_script else "program.py")
    script.write_text(SCRIPT.format(tool=tool))
    done = subprocess.run(
        [sys.executable, str(script), argument], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.endswith("at exit\n")
    assert ("returned True" in done.stdout) is not is_script
    assert (done.returncode != 0) is has_failed
    assert bool(done.stderr) is has_failed
