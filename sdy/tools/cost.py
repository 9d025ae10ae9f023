"""`sdy cost`: estimates the time and memory of a program on a machine."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from json import dumps
from typing import TYPE_CHECKING

from sdy.cost.hardware import machine_json
from sdy.cost.machines.file import resolve_hardware
from sdy.cost.machines.table import HARDWARE
from sdy.cost.quantities import parse_bytes
from sdy.cost.schedule import Overlap
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.program.program import Program
from sdy.report.tables.cost_tables import cost_tables, machines_table
from sdy.report.tables.fitted_table import print_tables
from sdy.tools.command_line.arguments import add_json_argument, check_not_given, print_json
from sdy.tools.command_line.console import console_of
from sdy.tools.command_line.environment import machine
from sdy.tools.command_line.exit_codes import SUCCESS
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import (
    add_compile_arguments,
    partition,
    with_program,
)
from sdy.tools.command_line.several_files import SEVERAL_FILES, add_files_argument, run_files
from sdy.tools.command_line.subcommand_parser import SubcommandParser

if TYPE_CHECKING:
    from sdy.program.pipeline import Pipeline

DESCRIPTION = f"""\
Partition a program and estimate its cost on each device of a machine: the time of the collectives by mesh axis, the
time of arithmetic and of memory accesses, and the peak memory compared with the memory of the device.

Of a program of several meshes, print when each mesh runs its fragments, the bubbles, and what is alive on each mesh;
with --schedule, in other orders of the fragments.

Machines: {", ".join(HARDWARE)}, or a TOML file that describes one (docs/costs.md).
`sdy cost` without arguments lists them with their numbers.

{SEVERAL_FILES}
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("cost", DESCRIPTION)
    add_files_argument(parser, nargs="*")
    parser.add_argument(
        "--on", metavar="MACHINE", help="the machine: a name listed above, or FILE.toml (default: $SDY_MACHINE)"
    )
    parser.add_argument(
        "--free-bytes",
        type=_byte_count,
        metavar="N",
        help="device memory that the program may use, such as 300e6, 14GB or 16GiB (default: all memory of the device)",
    )
    parser.add_argument(
        "--overlap",
        choices=[each.value for each in Overlap],
        default=Overlap.COMPILER.value,
        help="how collectives overlap with ops: not at all, as a compiler schedules them, or perfectly",
    )
    add_json_argument(parser)
    parser.add_argument(
        "--trace", metavar="OUT", help="also write the schedule of the ops as a trace for Chrome and ui.perfetto.dev"
    )
    parser.add_argument(
        "--schedule",
        metavar="NAMES",
        help="of a program of several meshes: order the fragments by this schedule, or compare several, with commas "
        "between, or all",
    )
    add_compile_arguments(parser, savings=True)
    parser.add_argument(
        "--minimize",
        choices=("bytes", "time"),
        default="time",
        help="use the communication optimizer only if the predicted time is shorter with it (default); or to send less",
    )
    return parser


def run(arguments: Namespace) -> int:
    """Print the cost of each program; without a program and a machine, list the machines."""
    if not arguments.files and arguments.on is None:
        if arguments.json:
            print_json([machine_json(each) for each in HARDWARE.values()])
        else:
            print_tables(console_of(arguments), machines_table(HARDWARE.values()))
        return SUCCESS
    if not arguments.files:
        raise SdyError(Diagnostic("SDY-T204", "sdy cost requires a program", hint="see sdy cost --help"))
    arguments.on = arguments.on or machine()
    if arguments.on is None:
        hint = f"choose a machine: {', '.join(HARDWARE)}, or a file such as chip.toml"
        raise SdyError(Diagnostic("SDY-T204", "sdy cost requires --on MACHINE", hint=hint))
    return run_files(arguments, _cost_file, for_one_file=("trace",), is_json=arguments.json)


def _cost_file(arguments: Namespace) -> int:
    hardware = resolve_hardware(arguments.on)

    def cost(program: Program) -> int:
        check_not_given(arguments, "is for programs of several meshes", "schedule")
        if arguments.minimize == "time" and not arguments.no_optimizer:
            program = program.optimized_for(hardware)
        partitioned = partition(program, arguments)
        if arguments.trace is not None:
            write_text(arguments.trace, dumps(program.schedule_trace(hardware)))
        found = partitioned.cost(hardware, arguments.free_bytes)
        if arguments.json:
            print_json(found.to_json())
        else:
            print_tables(console_of(arguments), *cost_tables(found, Overlap(arguments.overlap)))
        return SUCCESS

    def cost_of_pipeline(pipeline: Pipeline) -> int:
        from sdy.tools import pipelines  # it imports NumPy, which few commands need

        return pipelines.cost(arguments, pipeline)

    return with_program(arguments, cost, use_pipeline=cost_of_pipeline, is_priced=True)


def _byte_count(text: str) -> float:
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
