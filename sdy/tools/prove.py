"""`sdy prove`: proves, without a run, that the partitioned program computes the same results as the original one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sdy.diagnostics.diagnostic import render
from sdy.dialects.module_text import parse_module
from sdy.evidence.proof.outcome import Proof
from sdy.evidence.proof.prove import prove
from sdy.program.program import Program
from sdy.report.similar_entries import rest_text
from sdy.tools.command_line.arguments import add_json_argument, print_json
from sdy.tools.command_line.exit_codes import NO, SUCCESS
from sdy.tools.command_line.files import read_text
from sdy.tools.command_line.loading import (
    NO_OPTIMIZER_HELP,
    partition,
    with_lines,
    with_optimizer_option,
    with_program_and_text,
)
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = """\
Read a StableHLO program with sdy shardings, partition it, and prove that the program of each device computes the same
results, apart from rounding: each value of a device is related to a value of the original program, and each op follows
by a lemma. Nothing is run, and no code of the partitioner is used.

With --local, prove the program in that file instead, on the shardings of arguments and results that FILE ends up with.
Exit status: 0 if the program is proved, 1 if not, with the ops where the proof does not follow.
"""
MOST_LISTED = 10
PROVED = "proved: the programs compute the same, apart from rounding"
NOT_PROVED = "not proved, which need not be wrong: `sdy verify` runs both programs and compares their results"


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("prove", DESCRIPTION)
    parser.add_argument("file", help="StableHLO text with sdy shardings; - for standard input")
    parser.add_argument("--local", metavar="LOCAL.mlir", help="prove this program of one device instead of ours")
    add_json_argument(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="list all lemmas, and all ops that are not proved")
    parser.add_argument("--no-optimizer", action="store_true", help=NO_OPTIMIZER_HELP)
    return parser


def run(arguments: Namespace) -> int:
    """Prove the program and print the outcome."""
    return with_program_and_text(arguments.file, lambda program, text: _prove(program, text, arguments))


def _prove(program: Program, text: str, arguments: Namespace) -> int:
    partitioned = partition(with_optimizer_option(program, arguments), arguments.file, text)
    local, path, lines = partitioned.local, arguments.file, text.splitlines()
    if arguments.local:
        local_text = read_text(arguments.local)
        local, path, lines = parse_module(local_text, arguments.local), arguments.local, local_text.splitlines()
    proof = prove(program.module, local, partitioned.boundary)
    if arguments.json:
        print_json(proof.to_json())
    else:
        _print(proof, path, lines, verbose=arguments.verbose)
    return SUCCESS if proof.is_proved else NO


def _print(proof: Proof, path: str, lines: list[str], *, verbose: bool) -> None:
    shown = proof.failures if verbose else proof.failures[:MOST_LISTED]
    for failure in shown:
        print(render(with_lines(failure, path, lines)))
    if len(shown) < len(proof.failures):
        print(rest_text(len(proof.failures) - len(shown)))
    print(f"{proof.proved} of {proof.ops} ops proved ({proof.share:.1%})")
    if verbose:
        for name, count in proof.lemmas:
            print(f"  {count:6} {name}")
    print(PROVED if proof.is_proved else NOT_PROVED)
