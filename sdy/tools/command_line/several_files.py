"""Commands on several files: each file with the results of a call of its own, printed in the order of the files."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from json import loads

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import counted
from sdy.tools.command_line.arguments import check_not_given, print_json
from sdy.tools.command_line.exit_codes import INTERRUPTED, NO, NOT_RUN, SUCCESS, status_of
from sdy.tools.command_line.files import STANDARD_STREAM
from sdy.tools.command_line.processes import Captured, captured, run_in_processes

RunFile = Callable[[Namespace], int]  # on `arguments.file`; a function of a module, so that processes can import it

PROGRAMS = "StableHLO text with sdy shardings"
SEVERAL_FILES = """\
Several files are handled one by one, each as if it were the only one; with --json, the result is a list. The exit code
is the largest one of any file."""


def add_files_argument(parser: ArgumentParser, meaning: str = PROGRAMS, *, nargs: str = "+") -> None:
    """Add the argument for the programs, `arguments.files`."""
    parser.add_argument("files", metavar="file", nargs=nargs, help=f"{meaning}; - for standard input")


def run_files(
    arguments: Namespace,
    run: RunFile,
    *,
    for_one_file: Iterable[str] = (),
    is_json: bool = False,
    title: str = "{}:\n",
    separator: str = "\n",
    verdicts: tuple[str, str] | None = None,
    processes: int | None = 1,
) -> int:
    """Run a command on each file of `arguments.files`, and return the largest exit code.

    The output of each of several files follows a `title` with its name, or is a part of one JSON document. With
    `verdicts`, a last line has the number of files with the first verdict, and the names of those with the second one.
    `for_one_file` names the options that can only be given with one file.
    Raises: SdyError SDY-T204 if such an option is given with several files, or if a file is given twice; SDY-T262 if a
    process ends before its results.
    """
    files: list[str] = arguments.files
    if len(files) == 1:
        return run(Namespace(**vars(arguments), file=files[0]))
    _check_options(arguments, for_one_file)
    given = vars(arguments) | {"color": _color(arguments)}
    calls = [Namespace(**given, file=file) for file in files]
    ends: dict[str, Captured[int]] = {}
    results = run_in_processes(partial(captured, partial(_status, run)), calls, processes, arguments.load)
    for path, end in zip(files, results, strict=True):
        if not is_json:
            print(separator * bool(ends) + title.format(path) + end.output, end="", flush=True)
        print(end.errors, end="", file=sys.stderr, flush=True)
        ends[path] = end
        if end.result == INTERRUPTED:
            break
    if is_json:
        print_json([_document(path, end) for path, end in ends.items()])
    elif verdicts is not None:
        print(separator + _summary(ends, *verdicts))
    return max(end.result for end in ends.values())


def _check_options(arguments: Namespace, for_one_file: Iterable[str]) -> None:
    """Raise SdyError SDY-T204 if a file is named twice, or if an option is for one file only."""
    files: list[str] = arguments.files
    for path, times in Counter(files).items():
        if times > 1:
            raise SdyError(Diagnostic("SDY-T204", f"{path} is given twice"))
    check_not_given(arguments, f"requires one file, got {len(files)}", *for_one_file)
    if STANDARD_STREAM in files:
        raise SdyError(Diagnostic("SDY-T204", "- for standard input cannot be given with other files"))


def _color(arguments: Namespace) -> str:
    """Return the option for processes that do not write to the terminal themselves."""
    is_colored = arguments.color == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return "always" if is_colored else arguments.color


def _status(run: RunFile, arguments: Namespace) -> int:
    return status_of(partial(run, arguments))


def _document(path: str, end: Captured[int]) -> dict[str, object]:
    return {"file": path, "exit_code": end.result, "outcome": loads(end.output) if end.output else None}


def _summary(ends: Mapping[str, Captured[int]], verdict: str, other_verdict: str) -> str:
    codes = [end.result for end in ends.values()]
    parts = [f"{codes.count(SUCCESS)} of {counted(len(codes), 'file')} {verdict}"]
    for code, text in ((NO, other_verdict), (NOT_RUN, "not run")):
        paths = [path for path, end in ends.items() if end.result == code]
        if paths:
            parts.append(f"{text}: {', '.join(paths)}")
    return "; ".join(parts)
