"""`sdy partition`: writes the program that each device runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sdy.compile.compiled import Compiled
from sdy.cost.statistics import statistics_of
from sdy.dialects.module_text import print_module
from sdy.program.program import Program
from sdy.tools.command_line.arguments import JSON_HELP, print_json
from sdy.tools.command_line.exit_codes import SUCCESS
from sdy.tools.command_line.files import MARKER, STANDARD_STREAM, write_text
from sdy.tools.command_line.loading import (
    add_compile_arguments,
    partition,
    with_program,
)
from sdy.tools.command_line.several_files import SEVERAL_FILES, add_files_argument, run_files
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = f"""\
Propagate the shardings of a StableHLO program, partition it with explicit collectives, and write the program that each
device runs: plain StableHLO on local shapes.

{SEVERAL_FILES} The programs are separated by lines `{MARKER}`, so that `sdy-opt --split-input-file` reads them.
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("partition", DESCRIPTION)
    add_files_argument(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="output file (default: standard output)")
    parser.add_argument(
        "--global",
        dest="is_global",
        action="store_true",
        help="write the program with global shapes and sdy collectives",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--stats",
        choices=("table", "json"),
        help="print the bytes sent, the collectives, the FLOPs and the peak memory of one device; "
        "write the program only if --output names a file",
    )
    group.add_argument("--json", action="store_true", help=JSON_HELP)
    parser.add_argument(
        "--on",
        metavar="MACHINE",
        help="write the program that is predicted to be the fastest on this machine, whose time `sdy cost` prints "
        "(default: the one that sends the fewest bytes)",
    )
    add_compile_arguments(parser, savings=True)
    return parser


def run(arguments: Namespace) -> int:
    """Partition each program and write it."""
    is_json = arguments.json or arguments.stats == "json"
    is_text = not arguments.stats
    return run_files(
        arguments,
        _partition_file,
        for_one_file=("output",),
        is_json=is_json,
        title="// {}\n" if is_text else "{}:\n",
        separator=f"{MARKER}\n" if is_text else "\n",
    )


def _partition_file(arguments: Namespace) -> int:
    def partitioned_program(program: Program) -> Compiled:
        if arguments.on is not None and not arguments.no_optimizer:
            program = program.optimized_for(arguments.on)
        return partition(program, arguments)

    partitioned = with_program(arguments, partitioned_program)
    text = print_module(partitioned.global_module if arguments.is_global else partitioned.local)
    output: str = arguments.output or STANDARD_STREAM
    is_printed = output == STANDARD_STREAM
    if not is_printed or not (arguments.stats or arguments.json):
        write_text(output, text)
    if arguments.json:
        written = {"program": text, "output": None} if is_printed else {"program": None, "output": output}
        print_json({**written, "statistics": statistics_of(partitioned.local).to_json()})
    elif arguments.stats == "json":
        print_json(statistics_of(partitioned.local).to_json())
    elif arguments.stats == "table":
        # Imported here, because other calls do without rich.
        from sdy.report.tables.fitted_table import print_tables
        from sdy.report.tables.program_tables import statistics_tables
        from sdy.tools.command_line.console import console_of

        print_tables(console_of(arguments), *statistics_tables(statistics_of(partitioned.local)))
    return SUCCESS
