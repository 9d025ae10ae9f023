"""`sdy apply`: shards a program step by step, and shows what it costs after each step."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from sdy.cost.machines.table import HARDWARE
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.program.program import Program
from sdy.search.plans.apply_tactics import AppliedTactics
from sdy.search.tactics import Annotation, replicate, search_rest, shard
from sdy.tools.command_line.arguments import add_json_argument, add_machine_argument, print_reports
from sdy.tools.command_line.exit_codes import SUCCESS
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import add_compile_arguments, with_program
from sdy.tools.command_line.several_files import SEVERAL_FILES, add_files_argument, run_files
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = f"""\
Shard a program step by step. Each --shard, --replicate and --search is a step, in the order in which they are given; a
step propagates after those before it. Print the collectives, bytes, time and peak memory of one device after each.

A NAME may have wildcards, and stands for all leaves of a pytree: 'params.*.up', '%arg0'. Names of results begin with
result. Several annotations of one step are separated by commas: --shard 'up:1=model,down:0=model'.

{SEVERAL_FILES}

Machines: {", ".join(HARDWARE)}, or a TOML file that describes one (docs/costs.md).
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("apply", DESCRIPTION)
    add_files_argument(parser, "StableHLO text, with or without sdy shardings")
    parser.add_argument(
        "--mesh", metavar="AXES", help="the mesh, such as data=8,model=4 (default: that of the program)"
    )
    add_machine_argument(parser, "the machine of the costs")
    parser.add_argument(
        "--shard",
        metavar="NAME:DIM=AXIS",
        dest="steps",
        action="append",
        type=_shards,
        help="shard a dim of some values along an axis",
    )
    parser.add_argument(
        "--replicate",
        metavar="NAME[=AXIS]",
        dest="steps",
        action="append",
        type=_replicates,
        help="keep values replicated along an axis, or along all axes that do not shard them yet",
    )
    parser.add_argument(
        "--search", dest="steps", action="append_const", const=search_rest(), help="search what is left open"
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="write the annotated program; - for the screen")
    add_compile_arguments(parser)
    add_json_argument(parser)
    return parser


def run(arguments: Namespace) -> int:
    """Apply the steps to each program."""
    if not arguments.steps:
        hint = "for example --shard 'batch:0=data'; see sdy apply --help"
        raise SdyError(Diagnostic("SDY-T204", "sdy apply requires a step", hint=hint))

    return run_files(arguments, _apply_file, for_one_file=("output",), is_json=arguments.json)


def _apply_file(arguments: Namespace) -> int:
    """Apply the steps, print the table, and write the annotated program."""

    def applied(program: Program) -> AppliedTactics[Program]:
        return program.apply(*arguments.steps, mesh=arguments.mesh, on=arguments.on)

    found = with_program(arguments, applied)
    print_reports(arguments, found.to_json(), found.report())
    if arguments.output is not None:
        write_text(arguments.output, str(found.program))
    return SUCCESS


def _shards(text: str) -> list[Annotation]:
    return [_shard(part) for part in text.split(",")]


def _shard(text: str) -> Annotation:
    target, _, axis = text.rpartition("=")
    name, _, dim = target.rpartition(":")
    if not name or not axis or not dim.removeprefix("-").isdecimal():
        raise ArgumentTypeError(f"expected NAME:DIM=AXIS, got {text}")
    return shard(name, dim=int(dim), axis=axis)


def _replicates(text: str) -> list[Annotation]:
    parts = (part.partition("=") for part in text.split(","))
    return [replicate(name, axis=axis or None) for name, _, axis in parts]
