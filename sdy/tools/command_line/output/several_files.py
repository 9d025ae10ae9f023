"""`sdy verify` of several files: each in a process of its own, with results as if it were the only one."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from functools import partial
from json import loads

from sdy.diagnostics.counted import counted
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.tools.command_line.arguments import print_json
from sdy.tools.command_line.exit_codes import NO, NOT_RUN, SUCCESS
from sdy.tools.command_line.files import STANDARD_STREAM
from sdy.tools.command_line.processes import Captured, captured, run_in_processes
from sdy.tools.command_line.status import status_of

Verify = Callable[[Namespace, str], int]


def verify_files(arguments: Namespace, verify: Verify) -> int:
    """Verify each file in parallel processes, print the results in the order of the files, and return the exit code.

    `verify` is a function of a module. It prints the results of one file, and returns its exit code.
    Raises: SdyError SDY-T204 if an option is for one file only, SDY-T262 if a process ends before its results.
    """
    _check_options(arguments)
    colored = Namespace(**{**vars(arguments), "color": _color(arguments)})
    run = partial(captured, partial(_status, verify, colored))
    ends: dict[str, Captured[int]] = {}
    for path, end in zip(
        arguments.files, run_in_processes(run, arguments.files, arguments.processes, arguments.load), strict=True
    ):
        ends[path] = end
        if not arguments.json:
            print(f"{path}:\n{end.output}", flush=True)
        print(end.errors, end="", file=sys.stderr, flush=True)
    if arguments.json:
        print_json([_document(path, end) for path, end in ends.items()])
    else:
        print(_summary(ends))
    return max(end.result for end in ends.values())


def _check_options(arguments: Namespace) -> None:
    """Raise SdyError SDY-T204 if a file is named twice, or if an option is for one file only."""
    files: list[str] = arguments.files
    for path, times in Counter(files).items():
        if times > 1:
            raise SdyError(Diagnostic("SDY-T204", f"{path} is given twice"))
    for option, value in (("--inputs", arguments.inputs), ("--output", arguments.output)):
        if value:
            raise SdyError(Diagnostic("SDY-T204", f"{option} requires one file, got {len(files)}"))
    if STANDARD_STREAM in files:
        raise SdyError(Diagnostic("SDY-T204", "- for standard input cannot be given with other files"))


def _color(arguments: Namespace) -> str:
    """Return the option for processes that do not write to the terminal themselves."""
    is_colored = arguments.color == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return "always" if is_colored else arguments.color


def _status(verify: Verify, arguments: Namespace, path: str) -> int:
    return status_of(partial(verify, arguments, path))


def _document(path: str, end: Captured[int]) -> dict[str, object]:
    return {"file": path, "exit_code": end.result, "outcome": loads(end.output) if end.output else None}


def _summary(ends: dict[str, Captured[int]]) -> str:
    codes = [end.result for end in ends.values()]
    parts = [f"{codes.count(SUCCESS)} of {counted(len(codes), 'file')} agree"]
    for code, text in ((NO, "differ: {}"), (NOT_RUN, "not run: {}")):
        paths = [path for path, end in ends.items() if end.result == code]
        if paths:
            parts.append(text.format(", ".join(paths)))
    return "; ".join(parts)
