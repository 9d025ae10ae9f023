"""Arguments that several commands have, and the output of `--json`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from json import dumps
from typing import TextIO

from sdy.cost.machines.table import DEFAULT_MACHINE
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.tools.command_line.environment import machine

JSON_HELP = "print the result as JSON"


def default_machine() -> str:
    """Return the machine that is used without `--on`."""
    return machine() or DEFAULT_MACHINE


def add_machine_argument(parser: ArgumentParser, meaning: str) -> None:
    """Add `--on`, whose default is the machine of the environment, or the default machine."""
    help_text = f"{meaning} (default: $SDY_MACHINE, or {DEFAULT_MACHINE})"
    parser.add_argument("--on", metavar="MACHINE", default=default_machine(), help=help_text)


def add_json_argument(parser: ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help=JSON_HELP)


def add_format_argument(parser: ArgumentParser, option: str, what: str) -> None:
    """Add an option, and `--json`, for the format in which diagnostics are printed."""
    group = parser.add_mutually_exclusive_group()
    formats, meaning = ("text", "json", "github"), f"print {what} as text, JSON or GitHub annotations"
    group.add_argument(option, dest="format", choices=formats, default="text", help=meaning)
    group.add_argument("--json", dest="format", action="store_const", const="json", help=f"the same as {option} json")


def check_not_given(arguments: Namespace, reason: str, *options: str) -> None:
    """Raise SdyError SDY-T204 if one of the options is given; the message is its name and the reason."""
    for option in options:
        value = getattr(arguments, option)
        if value is not None and value is not False and value != []:
            raise SdyError(Diagnostic("SDY-T204", f"--{option.replace('_', '-')} {reason}"))


def print_json(document: Mapping[str, object] | Sequence[object], stream: TextIO | None = None) -> None:
    """Print a document as JSON to standard output, or to another stream."""
    print(dumps(document, indent=2, allow_nan=False), file=stream or sys.stdout)


def print_reports(arguments: Namespace, document: Mapping[str, object], *reports: str) -> None:
    """Print reports, or with `--json` their document; to standard error if `--output` writes to the screen."""
    stream = sys.stderr if arguments.output == "-" else sys.stdout
    if arguments.json:
        print_json(document, stream)
    else:
        print(*(report.rstrip() for report in reports), sep="\n", file=stream)
