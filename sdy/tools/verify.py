"""`sdy verify`: checks that the partitioned program computes the same results as the original one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import render
from sdy.diagnostics.wording import counted
from sdy.dialects.module_text import print_module
from sdy.evidence.local_program import local_program
from sdy.evidence.proof.outcome import Proof
from sdy.program.program import Program
from sdy.report.similar_entries import rest_text
from sdy.tools.command_line.arguments import add_json_argument, check_not_given, print_json
from sdy.tools.command_line.exit_codes import NO, SUCCESS
from sdy.tools.command_line.files import read_text, write_text
from sdy.tools.command_line.loading import (
    MESH_TENSOR,
    add_compile_arguments,
    partition,
    with_lines,
    with_program,
)
from sdy.tools.command_line.processes import add_processes_argument
from sdy.tools.command_line.several_files import SEVERAL_FILES, add_files_argument, run_files
from sdy.tools.command_line.subcommand_parser import SubcommandParser

if TYPE_CHECKING:
    from sdy.program.pipeline import Pipeline

DESCRIPTION = f"""\
Read a StableHLO program with sdy shardings, propagate the shardings, and partition it into one program per device with
explicit collectives. Run the program on one device and the partitioned one on simulated devices, in exact numbers of a
finite field in place of floats, and compare every output: equal programs give equal numbers, others differ but for a
chance that is printed. Booleans and integers that choose a path or a place are tried one by one. A program that is too
large for this machine is verified in smaller sizes. Arrays that are given are run in floats too, which tells how much
the two programs round differently.

With --prove, prove that the program of each device computes the same results, apart from rounding: each value of a
device is related to a value of the original program, and each op follows by a lemma. Ops without a lemma are checked by
a run in smaller sizes. No code of the partitioner is used. With --local, verify or prove the program in that file
instead, on the shardings of arguments and results that FILE ends up with. With --against, verify that FILE computes the
same function as another program, which may be written otherwise; formulas that are equal by the laws of exponentials
and logarithms are found to be.

A program of several meshes, in the dialect mpmd, runs on the devices of all meshes, and is compared with the program
without them; with --reduced and --prove, fragment by fragment. --local then names the program at a later stage.

The exit code is 0 if all outputs agree, or the program is proved; 1 if the partitioned program computes something else,
or an op has no proof; and 2 if the program could not be verified. Where an op has no form in exact numbers, the outcome
is "not decided", and floats must agree within rounding.

{SEVERAL_FILES} They are verified in parallel processes.
"""
MOST_LISTED = 10  # of the ops without a proof
PROVED = "proved: the programs compute the same, apart from rounding"
NOT_PROVED = "not proved, which need not be wrong: `sdy verify` runs both programs and compares their results"
REFUTED = "not the same function: a run in exact numbers gives other results"


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("verify", DESCRIPTION)
    add_files_argument(parser)
    parser.add_argument(
        "--inputs",
        metavar="X.npz",
        help="file with inputs arg0, arg1, ... and optionally expected outputs out0, out1, ... (default: random)",
    )
    parser.add_argument(
        "--adversarial",
        action="store_true",
        help="also run special values: signed zeros, infinities, NaN, ties, integers and indices at their limits",
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument(
        "--reduced",
        action="store_true",
        help="run both programs in smaller sizes that keep their structure, on special values too "
        "(default for a program that takes over ten minutes or more memory than is available)",
    )
    kinds.add_argument("--full", action="store_true", help="run the program in its own sizes, however long it takes")
    kinds.add_argument("--prove", action="store_true", help="prove op by op that they compute the same, for any size")
    parser.add_argument(
        "--local", metavar="LOCAL.mlir", help="verify or prove this program of one device instead of ours"
    )
    parser.add_argument(
        "--against", metavar="REFERENCE.mlir", help="verify that FILE computes the same function as this program"
    )
    parser.add_argument("--seed", type=int, help="seed of the draws (default: 0)")
    parser.add_argument("-o", "--output", metavar="LOCAL.mlir", help="also write the program that each device runs")
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="list every value, and all of many outputs, lemmas and ops without a proof",
    )
    add_json_argument(parser)
    add_processes_argument(parser)
    add_compile_arguments(parser, savings=True)
    return parser


def run(arguments: Namespace) -> int:
    """Verify each program and print the results."""
    if arguments.against:
        check_not_given(
            arguments, "cannot be given with --against", "inputs", "adversarial", "reduced", "full", "prove", "local"
        )
    if arguments.prove:
        check_not_given(arguments, "cannot be given with --prove", "inputs", "adversarial", "seed")
    return run_files(
        arguments,
        _verify_file,
        for_one_file=("inputs", "output", "local", "against"),
        is_json=arguments.json,
        verdicts=("proved", "not proved") if arguments.prove else ("agree", "differ"),
        processes=arguments.processes,
    )


def _verify_file(arguments: Namespace) -> int:
    def verified(program: Program) -> int:
        status = _verify(program, arguments)
        if program.origin.warnings and not arguments.json:
            count = counted(len(program.origin.warnings), "annotation")
            print(f"{count} of the text ignored, so the program may be sharded otherwise than meant: see the warnings")
        return status

    def verified_pipeline(pipeline: Pipeline) -> int:
        from sdy.tools.pipelines import verify  # imported here, because few programs have several meshes

        return verify(arguments, pipeline)

    return with_program(arguments, verified, use_pipeline=verified_pipeline)


def _verify(program: Program, arguments: Namespace) -> int:
    partitioned = partition(program, arguments)
    if arguments.output:
        write_text(arguments.output, print_module(partitioned.local))
    path, text = arguments.file, program.origin.text
    if arguments.local:
        path, text = arguments.local, read_text(arguments.local)
        if MESH_TENSOR in text:
            from sdy.tools.pipelines import verify_local  # as above

            return verify_local(arguments, partitioned)
        partitioned = replace(partitioned, local=local_program(text, path, partitioned.boundary))
    if arguments.prove:
        return _prove(partitioned, path, text, arguments)
    from sdy.tools.verify_runs import verify_by_runs  # imported here, because a proof needs no run

    return verify_by_runs(program, partitioned, arguments)


def _prove(partitioned: Compiled, path: str, text: str, arguments: Namespace) -> int:
    from sdy.evidence.proof.prove import prove_by_lemmas  # imported here, because a run does not need it

    lemmas = prove_by_lemmas(partitioned.written, partitioned.local, partitioned.boundary)
    proof = lemmas.proof
    if not proof.is_proved:
        # Imported here, because a proof by lemmas needs no run.
        from sdy.evidence.whole_proof import prove_with_runs
        from sdy.report.run_progress import terminal_progress

        proof = prove_with_runs(partitioned, lemmas, terminal_progress)
    if arguments.json:
        print_json(proof.to_json())
    else:
        _print_proof(proof, path, text.splitlines(), verbose=arguments.verbose)
    return SUCCESS if proof.is_proved else NO


def _print_proof(proof: Proof, path: str, lines: list[str], *, verbose: bool) -> None:
    listed = (*proof.failures, *(proof.gaps if verbose else ()))
    shown = listed if verbose else listed[:MOST_LISTED]
    for failure in shown:
        print(render(with_lines(failure, path, lines)))
    if len(shown) < len(listed):
        print(rest_text(len(listed) - len(shown)))
    print(f"{proof.proved} of {proof.ops} ops proved for any size")
    if proof.checked:
        print(f"{counted(proof.checked, 'op')} checked: {proof.check}")
    if proof.borders:
        print(f"the proof goes on from {counted(proof.borders, 'value')} after such ops, which the runs compared")
    if verbose:
        for name, count in proof.lemmas:
            print(f"  {count:6} {name}")
    print(PROVED if proof.is_proved else REFUTED if proof.differs else NOT_PROVED)
