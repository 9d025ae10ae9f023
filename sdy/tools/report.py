"""`sdy report`: a partitioned program at a glance, in the terminal or in the browser."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from dataclasses import replace

from sdy.cost.hardware import DEFAULT_MACHINE, HARDWARE, hardware_by_name
from sdy.program.program import Program
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import NO_OPTIMIZER_HELP, with_program

DESCRIPTION = f"""\
Partitions a program and prints its mesh, the shardings of its arguments and results, its collectives with bytes and
lines, and its conflicts. With --html all of this and more is written as one page for a browser: the program with the
axes that cut each value in colours, where each axis comes from, the time of each collective, memory over time, and a
box to search in. The page needs no network.

Machines: {", ".join(HARDWARE)}.
"""


def parser() -> ArgumentParser:
    """The arguments of the command."""
    parser = ArgumentParser("sdy report", description=DESCRIPTION, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("file", help="StableHLO with sdy annotations, as JAX lowers it; - is standard input")
    parser.add_argument("--html", metavar="OUT", help="write a page instead; - is standard output")
    parser.add_argument(
        "--on",
        default=DEFAULT_MACHINE,
        metavar="MACHINE",
        help=f"whose times the page tells; {DEFAULT_MACHINE} without",
    )
    parser.add_argument("--no-optimizer", action="store_true", help=NO_OPTIMIZER_HELP)
    return parser


def run(arguments: Namespace) -> int:
    """Partition, report."""
    hardware = hardware_by_name(arguments.on)

    def report(program: Program) -> str:
        chosen = replace(program, optimize_communication=not arguments.no_optimizer)
        return chosen.report() if arguments.html is None else chosen.report_html(hardware)

    found = with_program(arguments.file, report)
    write_text("-" if arguments.html is None else arguments.html, found)
    return 0
