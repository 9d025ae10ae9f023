"""Runs the `// RUN:` lines of a file test in this process: `sdy-opt %s --flag | filecheck %s`, `not`, `2>&1`."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options

Main = Callable[[Sequence[str]], int]

TOOLS = {"sdy": "sdy.tools.main", "sdy-opt": "sdy.tools.sdy_opt", "sdy-run": "sdy.tools.sdy_run"}

_RUN = re.compile(r"^// RUN: (.*)$", re.MULTILINE)


class RunLineError(Exception):
    """A command of a RUN line gave the wrong exit code; the text says which, and what it printed."""


def run_lines(path: Path) -> list[str]:
    """The commands of a file. A line that ends in a backslash goes on in the next."""
    joined = "\n".join(_RUN.findall(path.read_text())).replace("\\\n", " ")
    return [command for command in joined.split("\n") if command]


def run(command: str, path: Path, scratch: Path) -> None:
    """Run one command, which may be a pipe.

    Raises: RunLineError.
    """
    words = shlex.split(command)
    substitutions = {"%s": str(path), "%S": str(path.parent), "%t": str(scratch)}
    text = ""
    for stage in _stages([substitutions.get(word, word) for word in words]):
        must_fail = stage[0] == "not"
        merges = stage[-1] == "2>&1"
        name, *arguments = stage[int(must_fail) : len(stage) - int(merges)]
        code, out, err = call(name, arguments, text)
        if (code != 0) != must_fail:
            raise RunLineError(f"$ {command}\n{name} gave exit code {code}\n{out}{err}")
        text = out + err if merges else out


def _stages(words: list[str]) -> Iterator[list[str]]:
    while "|" in words:
        bar = words.index("|")
        yield words[:bar]
        words = words[bar + 1 :]
    yield words


def call(name: str, arguments: Sequence[str], text: str = "") -> tuple[int, str, str]:
    """Run a tool in this process on a text: exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with _standard_input(text), redirect_stdout(out), redirect_stderr(err):
        if name == "filecheck":
            code = Matcher.from_opts(parse_argv_options([name, "--enable-var-scope", *arguments])).run()
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
