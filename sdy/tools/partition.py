"""`sdy partition`: writes the program that each device runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from json import dumps

from rich.console import Console

from sdy.cost.statistics import Statistics, statistics_of
from sdy.dialects.module_text import print_module
from sdy.program.partitioned import PartitionedProgram
from sdy.program.program import Program
from sdy.report.tables.fitted_table import print_tables
from sdy.report.tables.program_tables import statistics_tables
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import (
    add_optimizer_arguments,
    partition,
    with_optimizer_option,
    with_program_and_text,
)
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = """\
Propagate the shardings of a StableHLO program, partition it with explicit collectives, and write the program that each
device runs: plain StableHLO on local shapes.
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("partition", DESCRIPTION)
    parser.add_argument("file", help="StableHLO text with sdy shardings; - for standard input")
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help="output file (default: standard output)")
    parser.add_argument(
        "--global",
        dest="is_global",
        action="store_true",
        help="write the program with global shapes and sdy collectives",
    )
    parser.add_argument(
        "--stats",
        choices=("table", "json"),
        help="print the bytes sent, the collectives, the FLOPs and the peak memory of one device; "
        "write the program only if --output names a file",
    )
    add_optimizer_arguments(parser)
    return parser


def run(arguments: Namespace) -> int:
    """Partition the program and write it."""
    path: str = arguments.file

    def partitioned_program(program: Program, text: str) -> PartitionedProgram:
        chosen = with_optimizer_option(program, arguments)
        return partition(chosen, path, text, savings=arguments.savings)

    partitioned = with_program_and_text(path, partitioned_program)
    if arguments.stats is not None:
        _print_statistics(statistics_of(partitioned.local), arguments.stats)
    if arguments.stats is None or arguments.output != "-":
        module = partitioned.global_module if arguments.is_global else partitioned.local
        write_text(arguments.output, print_module(module))
    return 0


def _print_statistics(statistics: Statistics, form: str) -> None:
    if form == "json":
        print(dumps(statistics.to_json(), indent=2))
    else:
        print_tables(Console(), *statistics_tables(statistics))
