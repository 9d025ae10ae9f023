"""Run the `// RUN:` lines of a file test in this process: `sdy-opt %s --flag | filecheck %s`, `not`, `2>&1`."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from support.file_tests.checks import Mismatch, first_mismatch

Main = Callable[[Sequence[str]], int]

TOOLS = {"sdy": "sdy.tools.main", "sdy-opt": "sdy.tools.sdy_opt", "sdy-run": "sdy.tools.sdy_run"}

_RUN = re.compile(r"^// RUN: (.*)$", re.MULTILINE)


@dataclass
class RunLineError(Exception):
    """A RUN line failed: a tool returned the wrong exit code, or its output does not match a CHECK line."""

    message: str
    mismatch: Mismatch | None = None

    def __str__(self) -> str:
        return self.message


def run_lines(path: Path) -> list[str]:
    """Return the commands of a file. A line that ends in a backslash continues on the next RUN line."""
    joined = "\n".join(_RUN.findall(path.read_text())).replace("\\\n", " ")
    return [command for command in joined.split("\n") if command]


def first_failure(commands: Sequence[str], path: Path, scratch: Path) -> RunLineError | None:
    """Run the commands in order; return the failure of the first that fails, None if all pass."""
    for command in commands:
        try:
            run(command, path, scratch)
        except RunLineError as failure:
            return failure
    return None


def run(command: str, path: Path, scratch: Path) -> None:
    """Run one command, which may be a pipe.

    Raises: RunLineError if a tool returns another exit code than expected or a CHECK line does not match.
    """
    tokens = shlex.split(command)
    substitutions = {"%s": str(path), "%S": str(path.parent), "%t": str(scratch)}
    text = ""
    for stage in _stages([substitutions.get(token, token) for token in tokens]):
        must_fail = stage[0] == "not"
        merges = stage[-1] == "2>&1"
        name, *arguments = stage[int(must_fail) : len(stage) - int(merges)]
        if name == "filecheck" and not must_fail:
            mismatch = first_mismatch(arguments, text)
            if mismatch is not None:
                raise RunLineError(_mismatch_message(command, path, mismatch), mismatch)
            continue
        code, out, err = call(name, arguments, text)
        if (code != 0) != must_fail:
            expected = "a failure" if must_fail else "exit code 0"
            raise RunLineError(f"{name}: expected {expected}, got exit code {code}\n  RUN: {command}\n{out}{err}")
        text = out + err if merges else out


def _mismatch_message(command: str, path: Path, mismatch: Mismatch) -> str:
    name = os.path.relpath(path)
    return "\n".join(
        (
            f"{path.name}:{mismatch.line}: {mismatch.reason}",
            f"  RUN: {command}",
            f"  {mismatch.directive}",
            f"what the tool printed ('>' marks line {mismatch.output_line}, where the search stopped):",
            mismatch.excerpt(),
            f"run again: pytest {name}",
            f"accept what it prints: pytest --update {name}",
        )
    )


def _stages(tokens: list[str]) -> Iterator[list[str]]:
    while "|" in tokens:
        bar = tokens.index("|")
        yield tokens[:bar]
        tokens = tokens[bar + 1 :]
    yield tokens


def call(name: str, arguments: Sequence[str], text: str = "") -> tuple[int, str, str]:
    """Run a tool in this process with `text` as standard input; return exit code, standard output and error."""
    out, err = io.StringIO(), io.StringIO()
    with _standard_input(text), redirect_stdout(out), redirect_stderr(err):
        if name == "filecheck":
            mismatch = first_mismatch(arguments, text)
            code = 0 if mismatch is None else 1
        else:
            main: Main = import_module(TOOLS[name]).main
            code = main(arguments)
    return code, out.getvalue(), err.getvalue()


@contextmanager
def _standard_input(text: str) -> Generator[None]:
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    try:
        yield
    finally:
        sys.stdin = before
