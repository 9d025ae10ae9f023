"""`sdy compare`: shows what other partitioners make of a program."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sdy.evidence.partitioners.compare import compare_partitioners
from sdy.evidence.partitioners.runs import OTHERS, SECONDS
from sdy.evidence.partitioners.table import PartitionerResult
from sdy.program.program import Program
from sdy.tools.command_line.arguments import add_json_argument, named_partitioners, print_json
from sdy.tools.command_line.exit_codes import NO, NOT_RUN, SUCCESS
from sdy.tools.command_line.loading import NO_OPTIMIZER_HELP, with_optimizer_option, with_program
from sdy.tools.command_line.output.console import console_of
from sdy.tools.command_line.partitioners import print_partitioners
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = """\
Partition a program with sdy, with XLA and with jaxlib's Shardy, and compare the collectives, bytes, FLOPs and memory of
one device. Run what they make of it on random inputs, and compare the results with a run on one device. XLA compiles
the program for as many devices of the host as its mesh has. Needs JAX: pip install 'sdy[jax]'.

Exit status: 0 if the program of sdy computes the same as the program on one device, 1 if it does not, 2 if the program
could not be compared. A partitioner that fails has a row that says how.
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("compare", DESCRIPTION)
    parser.add_argument("file", help="StableHLO text with sdy shardings; - for standard input")
    parser.add_argument(
        "--with",
        dest="others",
        metavar="NAMES",
        default=",".join(OTHERS),
        help=f"the other partitioners, separated by commas (default: {','.join(OTHERS)})",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random inputs (default: 0)")
    parser.add_argument(
        "--timeout", type=float, default=SECONDS, metavar="SECONDS", help=f"for each of them (default: {SECONDS:g})"
    )
    parser.add_argument("--no-optimizer", action="store_true", help=NO_OPTIMIZER_HELP)
    add_json_argument(parser)
    return parser


def run(arguments: Namespace) -> int:
    """Compare the partitioners."""

    def compared(program: Program) -> list[PartitionerResult]:
        chosen = with_optimizer_option(program, arguments)
        return compare_partitioners(
            chosen, named_partitioners(arguments.others), seed=arguments.seed, seconds=arguments.timeout
        )

    results = with_program(arguments.file, compared)
    if arguments.json:
        print_json([each.to_json() for each in results])
    else:
        print_partitioners(console_of(arguments), results)
    if results[0].problem:
        return NOT_RUN
    return SUCCESS if all(each.agrees for each in results[0].comparisons) else NO
