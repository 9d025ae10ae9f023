"""Real Shardy in a process of its own, because a failed check of its own ends the process that it runs in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict, cast

TESTS = Path(__file__).resolve().parents[1]


class Answer(TypedDict, total=False):
    """One of the two: the printed module, or why there is none."""

    text: str
    error: str


class OracleAbortError(Exception):
    """The process of the oracle ended instead of answering."""


class OracleProcess:
    """Runs passes of real Shardy. Started when it is first asked, and again after it has aborted."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, text: str, pipeline: str, *, generic: bool = False) -> Answer:
        """What `pipeline`, a text like `builtin.module(...)`, makes of a module; printed in generic form if wanted.

        Raises: OracleAbortError.
        """
        process = self._process = self._process or _start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"text": text, "pipeline": pipeline, "generic": generic}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
            raise OracleAbortError(f"exit code {process.returncode}")
        return cast("Answer", json.loads(line))

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.close()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _start() -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-m", "support.oracle.worker"]
    return subprocess.Popen(  # ended by `close`
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
