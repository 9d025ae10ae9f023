"""Runs in parallel processes: their results, their errors, and processes that end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.program.parallel.processes import Processes, core_count
from sdy.tools.command_line.extensions import import_extensions


def test_results_come_from_other_processes() -> None:
    with Processes(2) as pool:
        found = {pool.submit(os.getpid).result() for _ in range(4)}
    assert os.getpid() not in found
    assert 1 <= len(found) <= 2


def test_runs_are_parallel(tmp_path: Path) -> None:
    """A named pipe is written and read at the same time, or not at all."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with Processes(2) as pool:
        writing = pool.submit(partial(Path.write_text, pipe, "sent"))
        reading = pool.submit(partial(Path.read_text, pipe))
        assert reading.result(timeout=60) == "sent"
        assert writing.result(timeout=60) == 4


def test_an_error_is_that_of_the_run_and_the_process_goes_on() -> None:
    with Processes(1) as pool:
        with pytest.raises(SdyError) as caught:
            pool.submit(partial(import_extensions, ["no_such_module"], allows_unregistered=False)).result()
        assert caught.value.diagnostics[0].code == "SDY-T008"
        assert pool.submit(partial(max, 1, 2)).result() == 2


def test_a_process_that_ends_fails_its_run_only() -> None:
    with Processes(1) as pool:
        with pytest.raises(SdyError) as caught:
            pool.submit(partial(os._exit, 3)).result()
        assert caught.value.diagnostics[0].code == "SDY-T262"
        assert "status 3" in caught.value.diagnostics[0].message
        assert pool.submit(partial(max, 1, 2)).result() == 2


def test_each_process_prepares_first() -> None:
    with Processes(2, partial(os.putenv, "SDY_PREPARED", "yes")) as pool:
        command = [sys.executable, "-c", "import os; print(os.environ['SDY_PREPARED'])"]
        assert pool.submit(partial(subprocess.check_output, command, text=True)).result() == "yes\n"


def test_the_end_stops_what_runs() -> None:
    start = time.monotonic()
    with Processes(1) as pool:
        pool.submit(partial(time.sleep, 60))
        time.sleep(0.3)
    assert time.monotonic() - start < 30


def test_there_is_a_core() -> None:
    assert core_count() >= 1
