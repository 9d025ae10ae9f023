"""`sdy diff`: shows how two programs differ once they are partitioned."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from json import dumps

from sdy.advice.diff_page import diff_page
from sdy.cost.hardware import DEFAULT_MACHINE, HARDWARE
from sdy.diagnostics.diagnostic import SdyError
from sdy.program.program import Program
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import NO_OPTIMIZER_HELP, with_optimizer_option, with_program
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = f"""\
Partition two programs, for example two versions of one program, and show their differences: annotations, the shardings
that follow from them, collectives that came, went or moved, with their causes, and the bytes, time and memory of one
device. Values are matched by what computes them, so that names and the order of ops do not matter.

Machines: {", ".join(HARDWARE)}.
Exit status: 0 if the programs are equal, 1 if they differ, 2 if they could not be compared.
"""

EQUAL, DIFFERENT, NOT_COMPARED = 0, 1, 2


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("diff", DESCRIPTION)
    parser.add_argument("old", help="StableHLO text with sdy shardings; - for standard input")
    parser.add_argument("new", help="the program to compare it with")
    parser.add_argument(
        "--on",
        metavar="MACHINE",
        default=DEFAULT_MACHINE,
        help=f"the machine of the times (default: {DEFAULT_MACHINE})",
    )
    parser.add_argument("--no-optimizer", action="store_true", help=NO_OPTIMIZER_HELP)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print the differences as JSON")
    output.add_argument("--html", metavar="OUT", help="write an HTML page to this file; - for standard output")
    return parser


def run(arguments: Namespace) -> int:
    """Compare the programs."""

    def load(path: str) -> Program:
        return with_program(path, lambda program: _partitioned(with_optimizer_option(program, arguments)))

    try:
        found = load(arguments.old).diff(load(arguments.new), on=arguments.on)
        if arguments.html is not None:
            write_text(arguments.html, diff_page(found, f"{arguments.old} and {arguments.new}"))
    except SdyError as error:
        print(error, file=sys.stderr)
        return NOT_COMPARED
    if arguments.html is None:
        print(dumps(found.to_json(), indent=2) if arguments.json else found)
    return DIFFERENT if found else EQUAL


def _partitioned(program: Program) -> Program:
    """Return the program, which is partitioned while its diagnostics can show its lines."""
    program.partition()
    return program
