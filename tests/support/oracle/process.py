"""Run Shardy in a child process, because a failed assertion in it ends the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict, cast

TESTS = Path(__file__).resolve().parents[2]


class Answer(TypedDict, total=False):
    """The printed module, or the error."""

    text: str
    error: str


class MpmdJob(TypedDict):
    """A module without topologies, the meshes and their axes, where names and inputs are, and the phase to run.

    A name is on a mesh, or on a mesh and in a stage.
    """

    phase: str  # IMPORT, OPTIMIZE, PARTITION or ALL
    text: str
    meshes: list[tuple[str, list[tuple[str, int]]]]
    assignment: dict[str, str | tuple[str, int]]
    inputs: list[str | None]
    outputs: list[str | None]
    options: dict[str, bool | str]


class OracleAbortError(Exception):
    """The oracle's process ended without an answer."""


class OracleProcess:
    """A process that runs passes of Shardy. It is started at the first request, and again after it has aborted."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, text: str, pipeline: str, *, generic: bool = False) -> Answer:
        """Run `pipeline`, a text like `builtin.module(...)`, on a module; `generic`: print the generic form.

        Raises: OracleAbortError if the process ends without an answer.
        """
        return self._ask({"text": text, "pipeline": pipeline, "generic": generic})

    def compile(self, job: MpmdJob) -> Answer:
        """Compile a program on several meshes. Raises: OracleAbortError if the process ends without an answer."""
        return self._ask(dict(job))

    def _ask(self, request: dict[str, object]) -> Answer:
        process = self._process = self._process or _start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
            raise OracleAbortError(f"exit code {process.returncode}")
        return cast("Answer", json.loads(line))

    def close(self) -> None:
        """End the process if it is running."""
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
