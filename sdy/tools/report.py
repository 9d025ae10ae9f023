"""`sdy report`: prints a report on a partitioned program, or writes it as an HTML page."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from shutil import get_terminal_size

from sdy.cost.hardware import DEFAULT_MACHINE, HARDWARE
from sdy.cost.hardware_file import resolve_hardware
from sdy.program.program import Program
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import NO_OPTIMIZER_HELP, with_optimizer_option, with_program
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = f"""\
Partition a program, and print its mesh, the shardings of its arguments and results, its collectives with bytes and
source lines, and its conflicts. With --html, write a self-contained HTML page that also shows the sharding of every
value in colour, the origin of each axis, the time of each collective, memory over time, and a search box.

Machines: {", ".join(HARDWARE)}.
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("report", DESCRIPTION)
    parser.add_argument("file", help="StableHLO text with sdy shardings; - for standard input")
    parser.add_argument("--html", metavar="OUT", help="write an HTML page to this file; - for standard output")
    parser.add_argument(
        "--on",
        default=DEFAULT_MACHINE,
        metavar="MACHINE",
        help=f"the machine for the times on the HTML page (default: {DEFAULT_MACHINE})",
    )
    parser.add_argument("--no-optimizer", action="store_true", help=NO_OPTIMIZER_HELP)
    return parser


def run(arguments: Namespace) -> int:
    """Partition the program, and write the report."""
    hardware = resolve_hardware(arguments.on)

    def report(program: Program) -> str:
        chosen = with_optimizer_option(program, arguments)
        return (
            chosen.report(width=get_terminal_size().columns) if arguments.html is None else chosen.report_html(hardware)
        )

    found = with_program(arguments.file, report)
    write_text("-" if arguments.html is None else arguments.html, found)
    return 0
