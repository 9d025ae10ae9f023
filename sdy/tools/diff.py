"""`sdy diff`: shows how two programs differ once they are partitioned."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sdy.advice.diff_page import diff_page
from sdy.cost.machines.table import HARDWARE
from sdy.program.program import Program
from sdy.tools.command_line.arguments import JSON_HELP, add_machine_argument, print_json
from sdy.tools.command_line.exit_codes import NO, SUCCESS
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import add_compile_arguments, with_program
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = f"""\
Partition two programs, for example two versions of one program, and show their differences: annotations, the shardings
that follow from them, collectives that came, went or moved, with their causes, and the bytes, time and memory of one
device. Values are matched by what computes them, so that names and the order of ops do not matter.

Machines: {", ".join(HARDWARE)}.
Exit status: 0 if the programs are equal, 1 if they differ, 2 if they could not be compared.
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("diff", DESCRIPTION)
    parser.add_argument("old", help="StableHLO text with sdy shardings; - for standard input")
    parser.add_argument("new", help="the program to compare it with")
    add_machine_argument(parser, "the machine of the times")
    add_compile_arguments(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--html", metavar="OUT", help="write an HTML page to this file; - for standard output")
    output.add_argument("--json", action="store_true", help=JSON_HELP)
    return parser


def run(arguments: Namespace) -> int:
    """Compare the programs."""

    def load(path: str) -> Program:
        return with_program(arguments, _partitioned, path)

    found = load(arguments.old).diff(load(arguments.new), on=arguments.on)
    if arguments.json:
        print_json(found.to_json())
    elif arguments.html is not None:
        write_text(arguments.html, diff_page(found, f"{arguments.old} and {arguments.new}"))
    else:
        print(found)
    return NO if found else SUCCESS


def _partitioned(program: Program) -> Program:
    """Return the program, which is partitioned while its diagnostics can show its lines."""
    program.partition()
    return program
