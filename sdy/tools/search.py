"""`sdy search`: finds the best shardings of a program on a machine."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from sdy.cost.hardware import HARDWARE
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.program.program import Program
from sdy.search.plans.plan import ShardingPlan
from sdy.search.search_request import SECONDS, Goal
from sdy.tools.command_line.arguments import add_json_argument, add_machine_argument, print_json
from sdy.tools.command_line.exit_codes import SUCCESS
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import with_program
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = f"""\
Find the shardings of the arguments, the results and, where it pays, of values inside with which a program takes the
least time, sends the fewest bytes or needs the least memory. An integer program over all ops gives plans and a lower
bound of their cost; the best plans are partitioned, and their cost on the machine decides.

Annotations of the program stay, unless --from-scratch is given or the mesh is another one. Ctrl-C prints the best plan
so far.

Machines: {", ".join(HARDWARE)}, or a TOML file that describes one (docs/costs.md).
Large programs need the solver HiGHS: pip install 'sdy[search]'.
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("search", DESCRIPTION)
    parser.add_argument("file", help="StableHLO text, with or without sdy shardings; - for standard input")
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--mesh", metavar="AXES", help="the mesh, such as data=16,model=4 (default: that of the program)"
    )
    group.add_argument("--devices", metavar="N", type=int, help="try all meshes of one to three axes for N devices")
    add_machine_argument(parser, "the machine")
    parser.add_argument("--memory", metavar="BYTES", help="memory of a device that the program may use, such as 14GB")
    parser.add_argument("--minimize", choices=[goal.value for goal in Goal], default="time", help="what to minimize")
    parser.add_argument(
        "--fix",
        metavar="NAME=SHARDING",
        action="append",
        default=[],
        help="""keep the sharding of an argument or a result: --fix 'batch=P("data")'""",
    )
    parser.add_argument("--from-scratch", action="store_true", help="drop the annotations of the program")
    parser.add_argument("--overlap", action="store_true", help="communication takes no time while ops compute")
    parser.add_argument("--time-limit", metavar="SECONDS", type=float, default=SECONDS, help=f"({SECONDS:g})")
    parser.add_argument("--explain", action="store_true", help="show what the best plan without each axis would cost")
    parser.add_argument("-o", "--output", metavar="OUT", help="write the annotated program; - for the screen")
    add_json_argument(parser)
    return parser


def run(arguments: Namespace) -> int:
    """Search, print the plan, and write the annotated program."""
    fixed = dict(map(_fixed, arguments.fix))

    def search(program: Program) -> ShardingPlan[Program]:
        return program.search(
            mesh=arguments.mesh,
            devices=arguments.devices,
            on=arguments.on,
            memory=arguments.memory,
            minimize=arguments.minimize,
            fix=fixed,
            from_scratch=arguments.from_scratch,
            overlap=arguments.overlap,
            time_limit=arguments.time_limit,
        )

    plan = with_program(arguments.file, search)
    stream = sys.stderr if arguments.output == "-" else sys.stdout
    explained = {"explanation": plan.explain(arguments.time_limit)} if arguments.explain else {}
    if arguments.json:
        print_json(plan.to_json() | {name: each.to_json() for name, each in explained.items()}, stream)
    else:
        print(*(each.report().rstrip() for each in (plan, *explained.values())), sep="\n", file=stream)
    if arguments.output is not None:
        write_text(arguments.output, str(plan.program))
    return SUCCESS


def _fixed(text: str) -> tuple[str, str]:
    """Return the name and the sharding of an option."""
    name, equals, sharding = text.partition("=")
    if not equals or not name:
        raise SdyError(Diagnostic("SDY-T204", f"--fix: expected NAME=SHARDING, got {text}"))
    return name, sharding
