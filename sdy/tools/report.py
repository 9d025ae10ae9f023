"""`sdy report`: prints a report on a partitioned program, or writes it as an HTML page."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import sdy
from sdy.cost.hardware import DEFAULT_MACHINE, HARDWARE
from sdy.cost.hardware_file import resolve_hardware
from sdy.program.program import Program
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import NO_OPTIMIZER_HELP, with_optimizer_option, with_program
from sdy.tools.command_line.partitioners import named_partitioners, print_partitioners
from sdy.tools.command_line.subcommand_parser import SubcommandParser

if TYPE_CHECKING:
    from sdy.program.comparison import PartitionerResult

DESCRIPTION = f"""\
Partition a program, and print its mesh, the shardings of its arguments and results, its collectives with bytes and
source lines, and its conflicts. With --html, write a self-contained HTML page that also shows the sharding of every
value in colour, the origin of each axis, the time of each collective, memory over time, and a search box. With --with,
compare what XLA and Shardy make of the program, as `sdy compare` does.

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
    parser.add_argument(
        "--with",
        dest="others",
        metavar="NAMES",
        default="",
        help="also show what other partitioners make of the program: xla, shardy, or both with a comma (needs JAX)",
    )
    parser.add_argument("--no-optimizer", action="store_true", help=NO_OPTIMIZER_HELP)
    return parser


def run(arguments: Namespace) -> int:
    """Partition the program, and write the report."""
    hardware = resolve_hardware(arguments.on)

    others = named_partitioners(arguments.others)

    def report(program: Program) -> tuple[str, list[PartitionerResult]]:
        chosen = with_optimizer_option(program, arguments)
        results = sdy.compare_partitioners(chosen, others) if others else []
        if arguments.html is None:
            return chosen.report(width=get_terminal_size().columns), results
        return chosen.report_html(hardware, results), results

    found, results = with_program(arguments.file, report)
    write_text("-" if arguments.html is None else arguments.html, found)
    if arguments.html is None and results:
        print_partitioners(results)
    return 0
