"""`sdy lint`: finds avoidable communication, computation and memory, and fixes annotations."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from sdy.advice.lint.finding import Finding
from sdy.advice.lint.linter import LintReport, one_of_similar
from sdy.advice.lint.rules import RULES
from sdy.advice.lint.settings import LintSettings, nearest_settings
from sdy.cost.machines.table import HARDWARE
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, render
from sdy.diagnostics.toml_tables import positive_number
from sdy.documents.document import document
from sdy.program.program import Program
from sdy.report.similar_entries import on_one_screen
from sdy.tools.command_line.arguments import add_format_argument, print_json
from sdy.tools.command_line.environment import machine
from sdy.tools.command_line.exit_codes import NO, SUCCESS
from sdy.tools.command_line.files import STANDARD_STREAM, write_text
from sdy.tools.command_line.github import annotation
from sdy.tools.command_line.loading import (
    add_compile_arguments,
    with_lines,
    with_program,
)
from sdy.tools.command_line.several_files import SEVERAL_FILES, add_files_argument, run_files
from sdy.tools.command_line.subcommand_parser import SubcommandParser

_WIDTH = max(len(rule.name) for rule in RULES)
_RULE_LINES = "\n".join(f"  {rule.code}  {rule.name:{_WIDTH}}  {rule.summary}" for rule in RULES)

DESCRIPTION = f"""\
Partition a program and report what it could do without: bytes that devices send, time and memory. Each finding has a
code, a location, its cost, and a fix if a change of annotations avoids it. A fix is tried on a copy of the program
before it is reported: it must save at least half of the cost. With --fix, the fixes that raise neither bytes, time nor
memory are applied one by one, the best first.

Rules:
{_RULE_LINES}

The table [tool.sdy.lint] of the nearest pyproject.toml may have the keys select, ignore, on, trials, time-limit
and keep-boundary.

{SEVERAL_FILES}

Machines: {", ".join(HARDWARE)}.
Exit status: 0 if nothing is found, or if --fix leaves nothing; 1 if something is found; 2 if the program could not be
examined.
"""

CONVERTED = (".mlirbc", ".pb", ".gz", ".zst")  # files that are read by conversion to text


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("lint", DESCRIPTION)
    add_files_argument(parser)
    parser.add_argument("--fix", action="store_true", help="write the program with the fixes into the file")
    parser.add_argument(
        "--output", metavar="OUT", help="with --fix, write the program to another file; - for the screen"
    )
    parser.add_argument("--select", metavar="CODES", type=_codes, help="the rules to run: codes or prefixes, or ALL")
    parser.add_argument("--ignore", metavar="CODES", type=_codes, help="rules not to run")
    parser.add_argument("--on", metavar="MACHINE", help="the machine of the predicted times (default: $SDY_MACHINE)")
    parser.add_argument(
        "--trials", metavar="N", type=_count, help="how many fixes to try (default: as many as take some ten seconds)"
    )
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=_seconds,
        help="after which no fix is tried: report what was found so far (default: none)",
    )
    parser.add_argument(
        "--keep-boundary",
        action="store_true",
        help="suggest no fix that changes the sharding of an argument or a result of the program",
    )
    parser.add_argument("--show-small", action="store_true", help="also report findings that cost very little")
    add_compile_arguments(parser)
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="list all findings, also those that differ only in names and lines"
    )
    add_format_argument(parser, "--output-format", "findings")
    return parser


def run(arguments: Namespace) -> int:
    """Report the findings of each program, or fix them."""
    title, separator = ("", "") if arguments.format == "github" else ("{}:\n", "\n")
    is_json = arguments.format == "json"
    return run_files(arguments, _lint_file, for_one_file=("output",), is_json=is_json, title=title, separator=separator)


def _lint_file(arguments: Namespace) -> int:
    settings = _settings(arguments)
    output, end = _output(arguments), settings.end()

    def examine(program: Program) -> tuple[LintReport, list[Finding], str, bool]:
        text, fixed = str(program), list[Finding]()
        if arguments.fix:
            program, fixed = program.with_lint_fixes(settings.until(end))
        return program.lint(settings.until(end)), fixed, str(program), str(program) != text

    report, fixed, text, is_changed = with_program(arguments, examine, is_priced=True)
    if output is not None and (is_changed or output != arguments.file):
        write_text(output, text)
    _print(report, fixed, arguments, text, sys.stderr if output == STANDARD_STREAM else sys.stdout)
    return NO if report.findings else SUCCESS


def _output(arguments: Namespace) -> str | None:
    """Return the file that the fixed program is written to; None without --fix."""
    if not arguments.fix:
        if arguments.output is not None:
            raise SdyError(Diagnostic("SDY-T204", "--output requires --fix"))
        return None
    if arguments.output is None and Path(arguments.file).suffix in CONVERTED:
        hint = "--output OUT.mlir writes the program as text"
        raise SdyError(Diagnostic("SDY-T204", f"--fix cannot write {arguments.file}: it is not text", hint=hint))
    return arguments.output or arguments.file


def _settings(arguments: Namespace) -> LintSettings:
    """Return the settings of pyproject.toml, overridden by the arguments."""
    folder = Path.cwd() if arguments.file == STANDARD_STREAM else Path(arguments.file).resolve().parent
    settings = nearest_settings(folder)
    given = {
        "select": arguments.select,
        "ignore": arguments.ignore,
        "on": arguments.on or machine(),
        "trials": arguments.trials,
        "time_limit": arguments.time_limit,
        "shows_small": arguments.show_small or None,
        "keeps_boundary": arguments.keep_boundary or None,
    }
    return replace(settings, **{key: value for key, value in given.items() if value is not None})


def _print(report: LintReport, fixed: list[Finding], arguments: Namespace, text: str, stream: TextIO) -> None:
    lines = text.splitlines()
    shown = report.findings
    if arguments.format == "text":
        shown = one_of_similar(shown, verbose=arguments.verbose)
    diagnostics = [with_lines(each.diagnostic(), arguments.file, lines) for each in shown]
    match arguments.format:
        case "json":
            print_json(document("Lint", report, fixed=fixed, totals=report.price.as_cost), stream)
        case "github":
            print("\n".join(map(annotation, diagnostics)), end="\n" if diagnostics else "", file=stream)
        case _:
            for each in fixed:
                print(f"fixed {each.code}: {each.fix}", file=stream)
            for shown_text in on_one_screen(list(map(render, diagnostics)), verbose=arguments.verbose):
                print(shown_text, file=stream)
            print(report.summary(len(fixed)), file=stream)


def _codes(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(","))))


def _count(text: str) -> int:
    if not text.isdigit():
        raise ArgumentTypeError(f"expected a count, got {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        return positive_number(float(text))
    except ValueError:
        raise ArgumentTypeError(f"expected a number of seconds, got {text!r}") from None
