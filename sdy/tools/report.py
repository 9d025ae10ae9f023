"""`sdy report`: prints a report on a partitioned program, or writes it as an HTML page."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import sdy
from sdy.cost.hardware import HARDWARE
from sdy.cost.hardware_file import resolve_hardware
from sdy.program.program import Program
from sdy.tools.command_line.arguments import JSON_HELP, add_machine_argument, named_partitioners, print_json
from sdy.tools.command_line.exit_codes import SUCCESS
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import NO_OPTIMIZER_HELP, VERBOSE_HELP, with_optimizer_option, with_program
from sdy.tools.command_line.subcommand_parser import SubcommandParser

if TYPE_CHECKING:
    from sdy.cost.hardware import Hardware
    from sdy.evidence.partitioners.table import PartitionerResult

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
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--html", metavar="OUT", help="write an HTML page to this file; - for standard output")
    group.add_argument("--json", action="store_true", help=JSON_HELP)
    add_machine_argument(parser, "the machine for the times on the HTML page and in JSON")
    parser.add_argument(
        "--with",
        dest="others",
        metavar="NAMES",
        default="",
        help="also show what other partitioners make of the program: xla, shardy, or both with a comma (needs JAX)",
    )
    parser.add_argument("--no-optimizer", action="store_true", help=NO_OPTIMIZER_HELP)
    parser.add_argument("-v", "--verbose", action="store_true", help=VERBOSE_HELP)
    return parser


def run(arguments: Namespace) -> int:
    """Partition the program, and write the report."""
    hardware = resolve_hardware(arguments.on)
    others = named_partitioners(arguments.others)

    def report(program: Program) -> None:
        chosen = with_optimizer_option(program, arguments)
        results: Sequence[PartitionerResult] = sdy.compare_partitioners(chosen, others) if others else ()
        if arguments.html is not None:
            write_text(arguments.html, chosen.report_html(hardware, results))
        elif arguments.json:
            _print_json(chosen, hardware, results)
        else:
            _print(chosen, arguments, results)

    with_program(arguments.file, report)
    return SUCCESS


def _print_json(program: Program, hardware: Hardware, results: Sequence[PartitionerResult]) -> None:
    from sdy.advice.report_json import report_json  # the HTML page does not need it

    print_json(
        {**report_json(program.partition_summary(hardware)), "partitioners": [each.to_json() for each in results]}
    )


def _print(program: Program, arguments: Namespace, results: Sequence[PartitionerResult]) -> None:
    write_text("-", program.report(width=get_terminal_size().columns, verbose=arguments.verbose))
    if results:
        from sdy.tools.command_line.output.console import console_of  # with rich, which the HTML page does not need
        from sdy.tools.command_line.partitioners import print_partitioners

        print_partitioners(console_of(arguments), results)
