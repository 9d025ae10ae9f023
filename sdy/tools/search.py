"""`sdy search`: finds the best shardings of a program on a machine, or compares all meshes and several machines."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from shutil import get_terminal_size

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sdy.cost.machines.table import HARDWARE
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, render
from sdy.program.program import Program
from sdy.program.sweep import SECONDS as SWEEP_SECONDS
from sdy.program.sweep import sweep
from sdy.report.html.sweep_page import sweep_page
from sdy.report.sweep_points import Sweep
from sdy.search.pipelines.pipeline_plan import PipelinePlan
from sdy.search.plans.plan import ShardingPlan
from sdy.search.search_request import SECONDS, Goal
from sdy.tools.command_line.arguments import add_json_argument, add_machine_argument, check_not_given, print_reports
from sdy.tools.command_line.exit_codes import SUCCESS, interrupted_by_termination
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import add_compile_arguments, with_lines, with_program
from sdy.tools.command_line.processes import add_processes_argument
from sdy.tools.command_line.several_files import SEVERAL_FILES, add_files_argument, run_files
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = f"""\
Find the shardings of the arguments, the results and, where it pays, of values inside with which a program takes the
least time, sends the fewest bytes or needs the least memory. An integer program over all ops gives plans and a lower
bound of their cost; the best plans are partitioned, and their cost on the machine decides.

Annotations of the program stay, unless --from-scratch is given or the mesh is another one. Ctrl-C, or the signal
SIGTERM, prints the best plan so far.

With --sweep, estimate the time and the peak memory on all meshes of --devices devices, on one or several machines: with
the shardings that a search finds, and with those of the program, whose axes get all sizes with this product. A program
with ops that depend on the mesh, such as manual computations, is priced on the meshes that it is written for. The
points run in parallel processes. Ctrl-C prints those that are done.

With --stages, search for a pipeline of a program with equal layers: the number of meshes, the layers, the mesh and the
shardings of each stage, the number of microbatches, the schedule, and the stages that compute forward phases again.

{SEVERAL_FILES}

Machines: {", ".join(HARDWARE)}, or a TOML file that describes one (docs/costs.md).
Large programs need the solver HiGHS: pip install 'sdy[search]'.
"""

ONE_MESH = "minimize", "fix", "from_scratch", "overlap", "explain", "constraints"  # options of a search on one mesh


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("search", DESCRIPTION)
    add_files_argument(parser, "StableHLO text, with or without sdy shardings")
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--mesh", metavar="AXES", help="the mesh, such as data=16,model=4 (default: that of the program)"
    )
    group.add_argument("--devices", metavar="N", type=int, help="try all meshes of one to three axes for N devices")
    add_machine_argument(parser, "the machine; with --sweep, several are separated by commas")
    parser.add_argument("--memory", metavar="BYTES", help="memory of a device that the program may use, such as 14GB")
    parser.add_argument("--minimize", choices=[goal.value for goal in Goal], help="what to minimize (default: time)")
    parser.add_argument(
        "--fix",
        metavar="NAME=SHARDING",
        action="append",
        default=[],
        help="""keep the sharding of an argument or a result: --fix 'batch=P("data")'""",
    )
    parser.add_argument("--from-scratch", action="store_true", help="drop the annotations of the program")
    parser.add_argument(
        "--constraints",
        metavar="N",
        type=int,
        help="the most sharding constraints inside the program; with 0, only arguments and results are sharded "
        "(default: any number, and 0 for a program from JAX)",
    )
    parser.add_argument("--overlap", action="store_true", help="communication takes no time while ops compute")
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        help=f"(default: {SECONDS:g}; with --sweep, {SWEEP_SECONDS:g} for each search)",
    )
    parser.add_argument("--explain", action="store_true", help="show what the best plan without each axis would cost")
    parser.add_argument("--stages", metavar="N,...", help="search for a pipeline on so many meshes, such as 2,4,8")
    parser.add_argument(
        "--microbatches",
        metavar="N,...",
        help="with --stages: the numbers of microbatches to try; 4..64 doubles from 4 on (default: 4..64)",
    )
    parser.add_argument("--sweep", action="store_true", help="compare all meshes of --devices, on all machines")
    add_processes_argument(parser, "with --sweep: ")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="write the annotated program, or with --sweep an HTML page with a picture; - for the screen",
    )
    add_compile_arguments(parser)
    add_json_argument(parser)
    return parser


def run(arguments: Namespace) -> int:
    """Search each program, or compare all meshes."""
    if arguments.sweep:
        unused = *ONE_MESH, "mesh", "stages", "microbatches"
        check_not_given(arguments, "cannot be given with --sweep", *unused)
        if arguments.devices is None:
            raise SdyError(Diagnostic("SDY-T204", "--sweep requires --devices"))
    else:
        check_not_given(arguments, "requires --sweep", "processes")
    if arguments.stages is not None:
        check_not_given(arguments, "cannot be given with --stages", *ONE_MESH, "output")
    else:
        check_not_given(arguments, "requires --stages", "microbatches")
    run_file = _sweep if arguments.sweep else _search if arguments.stages is None else _search_pipeline
    return run_files(arguments, run_file, for_one_file=("output",), is_json=arguments.json)


def _search(arguments: Namespace) -> int:
    """Search, print the plan, and write the annotated program."""
    fixed = dict(map(_fixed, arguments.fix))
    time_limit = SECONDS if arguments.time_limit is None else arguments.time_limit

    def search(program: Program) -> ShardingPlan[Program]:
        return program.search(
            mesh=arguments.mesh,
            devices=arguments.devices,
            on=arguments.on,
            memory=arguments.memory,
            minimize=arguments.minimize or Goal.TIME.value,
            fix=fixed,
            from_scratch=arguments.from_scratch,
            constraints=arguments.constraints,
            overlap=arguments.overlap,
            time_limit=time_limit,
        )

    with interrupted_by_termination():
        plan = with_program(arguments, search, is_priced=True)
    explained = {"explanation": plan.explain(time_limit)} if arguments.explain else {}
    document = plan.to_json() | {name: each.to_json() for name, each in explained.items()}
    print_reports(arguments, document, *(each.report() for each in (plan, *explained.values())))
    if arguments.output is not None:
        write_text(arguments.output, str(plan.program))
    return SUCCESS


def _search_pipeline(arguments: Namespace) -> int:
    """Search for a pipeline, and print the plan."""

    def search(program: Program) -> PipelinePlan:
        return program.search(
            stages=arguments.stages,
            microbatches=arguments.microbatches,
            mesh=arguments.mesh,
            devices=arguments.devices,
            on=arguments.on,
            memory=arguments.memory,
            time_limit=arguments.time_limit,
        )

    with interrupted_by_termination():
        plan = with_program(arguments, search, is_priced=True)
    print_reports(arguments, plan.to_json(), plan.report(get_terminal_size().columns))
    return SUCCESS


def _sweep(arguments: Namespace) -> int:
    """Price all points, print the table, and write the page."""

    def swept(program: Program) -> Sweep:
        columns = TextColumn("points"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("points", total=None)
            found = sweep(
                program,
                arguments.devices,
                arguments.on.split(","),
                memory=arguments.memory,
                time_limit=SWEEP_SECONDS if arguments.time_limit is None else arguments.time_limit,
                processes=arguments.processes,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            )
        if found.limit is not None:
            print(render(with_lines(found.limit, arguments.file, str(program).splitlines())), file=sys.stderr)
        return found

    found = with_program(arguments, swept, is_priced=True)
    print_reports(arguments, found.to_json(), replace(found, limit=None).report(get_terminal_size().columns))
    if arguments.output is not None:
        write_text(arguments.output, sweep_page(found, f"{arguments.file} on {arguments.devices} devices"))
    return SUCCESS


def _fixed(text: str) -> tuple[str, str]:
    """Return the name and the sharding of an option."""
    name, equals, sharding = text.partition("=")
    if not equals or not name:
        raise SdyError(Diagnostic("SDY-T204", f"--fix: expected NAME=SHARDING, got {text}"))
    return name, sharding
