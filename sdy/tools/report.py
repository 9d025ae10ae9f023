"""`sdy report`: prints a report on a partitioned program, or writes it as an HTML page."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import sdy
from sdy.cost.machines.file import resolve_hardware
from sdy.cost.machines.table import HARDWARE
from sdy.program.program import Program
from sdy.tools.command_line.arguments import JSON_HELP, add_machine_argument, check_not_given, print_json
from sdy.tools.command_line.exit_codes import NO, NOT_RUN, SUCCESS
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import VERBOSE_HELP, add_compile_arguments, with_program
from sdy.tools.command_line.several_files import SEVERAL_FILES, add_files_argument, run_files
from sdy.tools.command_line.subcommand_parser import SubcommandParser

if TYPE_CHECKING:
    from sdy.cost.hardware import Hardware
    from sdy.evidence.partitioners.table import PartitionerResult, PartitionerResults
    from sdy.program.pipeline import Pipeline

DESCRIPTION = f"""\
Partition a program, and print its mesh, the shardings of its arguments and results, its collectives with bytes and
source lines, and its conflicts. With --html, write a self-contained HTML page that also shows the sharding of every
value in colour, the origin of each axis, the time of each collective, memory over time, and a search box.

With --with, partition the program with XLA and jaxlib's Shardy too, and compare the collectives, bytes, FLOPs and
memory of one device. Run what they make of it on random inputs, and compare the results with a run on one device. XLA
compiles the program for as many devices of the host as its mesh has. A partitioner that fails has a row that says how.
A program whose run would take over ten minutes or more memory than is available is only compiled.
Needs JAX: pip install 'sdy[jax]'.

{SEVERAL_FILES}

Machines: {", ".join(HARDWARE)}.
Exit status: 0 for success; 1 if, with --with, the program of sdy computes other results than the program on one device;
2 if the program could not be partitioned, or not be compared.
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("report", DESCRIPTION)
    add_files_argument(parser)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--html", metavar="OUT", help="write an HTML page to this file; - for standard output")
    group.add_argument("--json", action="store_true", help=JSON_HELP)
    add_machine_argument(parser, "the machine for the times on the HTML page and in JSON")
    parser.add_argument(
        "--with",
        dest="others",
        metavar="NAMES",
        help="also show what other partitioners make of the program: xla, shardy, or both with a comma (needs JAX)",
    )
    parser.add_argument("--compare", action="store_true", help=SUPPRESS)  # the old command of this name
    parser.add_argument("--seed", type=int, help="with --with: seed of the random inputs (default: 0)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="with --with: for each of the partitioners")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--compile-only", action="store_true", help="with --with: do not run the programs")
    kinds.add_argument("--full", action="store_true", help="with --with: run the programs, however long it takes")
    add_compile_arguments(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help=VERBOSE_HELP)
    return parser


def run(arguments: Namespace) -> int:
    """Write the report of each program."""
    if arguments.compare and arguments.others is None:
        arguments.others = "xla,shardy"
    if arguments.others is None:
        check_not_given(arguments, "requires --with", "seed", "timeout", "compile_only", "full")
    return run_files(arguments, _report_file, for_one_file=("html",), is_json=arguments.json)


def _report_file(arguments: Namespace) -> int:
    """Partition the program, and write the report."""
    hardware = resolve_hardware(arguments.on)

    def report(program: Program) -> int:
        results = _compared(program, arguments)
        if arguments.html is not None:
            write_text(arguments.html, program.report_html(hardware, results or ()))
        elif arguments.json:
            _print_json(program, hardware, results or (), arguments)
        else:
            _print(program, arguments, results)
        if results and results[0].problem:
            return NOT_RUN
        return SUCCESS if not results or all(each.agrees for each in results[0].comparisons) else NO

    def report_of_pipeline(pipeline: Pipeline) -> int:
        from sdy.tools import pipelines  # imported here with rich

        return pipelines.report(arguments, pipeline)

    return with_program(arguments, report, use_pipeline=report_of_pipeline)


def _compared(program: Program, arguments: Namespace) -> PartitionerResults | None:
    """Return the results of the partitioners of `--with`, ours first; None without it."""
    if arguments.others is None:
        return None
    others = [name for name in arguments.others.split(",") if name]
    timeout = {} if arguments.timeout is None else {"seconds": arguments.timeout}
    run = False if arguments.compile_only else True if arguments.full else None
    return sdy.compare_partitioners(program, others, seed=arguments.seed or 0, run=run, **timeout)


def _print_json(
    program: Program, hardware: Hardware, results: Sequence[PartitionerResult], arguments: Namespace
) -> None:
    from sdy.advice.partition_summary import report_json  # the HTML page does not need it

    if arguments.compare:
        print_json([each.to_json() for each in results])
    else:
        print_json(report_json(program.partition_summary(hardware), results))


def _print(program: Program, arguments: Namespace, results: PartitionerResults | None) -> None:
    if results is not None:
        write_text("-", results.report(get_terminal_size().columns))
    if not arguments.compare:
        write_text("-", program.report(arguments.on, width=get_terminal_size().columns, verbose=arguments.verbose))
