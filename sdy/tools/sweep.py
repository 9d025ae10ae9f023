"""`sdy sweep`: shows the time and memory of a program on all meshes of a number of devices, on several machines."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from shutil import get_terminal_size

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sdy.cost.hardware import DEFAULT_MACHINE, HARDWARE
from sdy.diagnostics.diagnostic import render
from sdy.program.program import Program
from sdy.program.sweep import SECONDS, sweep
from sdy.report.sweep.page import sweep_page
from sdy.report.sweep.points import Sweep
from sdy.tools.command_line.arguments import add_json_argument, default_machine, print_json
from sdy.tools.command_line.exit_codes import SUCCESS
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import with_lines, with_program_and_text
from sdy.tools.command_line.processes import add_processes_argument
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = f"""\
Estimate the time and the peak memory of a program on all meshes of a number of devices, on one or several machines:
with the shardings that a search finds, and with those of the program, whose axes get all sizes with this product. A
program with ops that depend on the mesh, such as manual computations, is priced on the meshes that it is written for.
The points run in parallel processes. Ctrl-C prints those that are done.

Machines: {", ".join(HARDWARE)}, or TOML files that describe one (docs/costs.md).
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("sweep", DESCRIPTION)
    parser.add_argument("file", help="StableHLO text, with or without sdy shardings; - for standard input")
    parser.add_argument("--devices", metavar="N", type=int, required=True, help="the number of devices")
    help_text = f"separated by commas (default: $SDY_MACHINE, or {DEFAULT_MACHINE})"
    parser.add_argument("--on", metavar="MACHINES", default=default_machine(), help=help_text)
    parser.add_argument("--memory", metavar="BYTES", help="memory of a device that the program may use, such as 14GB")
    parser.add_argument(
        "--time-limit", metavar="SECONDS", type=float, default=SECONDS, help=f"for each search ({SECONDS:g})"
    )
    add_processes_argument(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="write an HTML page with a picture; - for the screen")
    add_json_argument(parser)
    return parser


def run(arguments: Namespace) -> int:
    """Price all points, print the table, and write the page."""

    def swept(program: Program, text: str) -> Sweep:
        columns = TextColumn("points"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("points", total=None)
            found = sweep(
                program,
                arguments.devices,
                arguments.on.split(","),
                memory=arguments.memory,
                time_limit=arguments.time_limit,
                processes=arguments.processes,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            )
        if found.limit is not None:
            print(render(with_lines(found.limit, arguments.file, text.splitlines())), file=sys.stderr)
        return found

    found = with_program_and_text(arguments.file, swept)
    stream = sys.stderr if arguments.output == "-" else sys.stdout
    if arguments.json:
        print_json(found.to_json(), stream)
    else:
        print(replace(found, limit=None).report(get_terminal_size().columns).rstrip(), file=stream)
    if arguments.output is not None:
        write_text(arguments.output, sweep_page(found, f"{arguments.file} on {arguments.devices} devices"))
    return SUCCESS
