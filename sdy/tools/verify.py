"""`sdy verify`: checks that the partitioned program computes the same results as the original one."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console

from sdy.advice.report_json import meshes_json
from sdy.compile.compiled import Compiled
from sdy.cost.collective_uses import collectives_of
from sdy.cost.statistics import statistics_of
from sdy.diagnostics.diagnostic import render
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import parse_module, print_module
from sdy.evidence.proof.outcome import Proof
from sdy.evidence.runs.adversarial import VerifiedRound, adversarial_rounds
from sdy.evidence.runs.arrays import check_arrays, load_arrays, random_inputs
from sdy.evidence.runs.comparison import OutputComparison
from sdy.evidence.runs.reduced import choose_sizes, verify_reduced
from sdy.evidence.runs.verification import compare_runs
from sdy.program.program import Program
from sdy.report.run_progress import terminal_progress
from sdy.report.similar_entries import rest_text
from sdy.report.tables.fitted_table import print_start, print_tables
from sdy.report.tables.program_tables import NO_MESH, collectives_table, mesh_table, rounds_table, values_table
from sdy.report.value_rows import boundary_rows, value_rows, without_similar
from sdy.tools.command_line.arguments import add_json_argument, check_not_given, print_json
from sdy.tools.command_line.exit_codes import NO, SUCCESS
from sdy.tools.command_line.files import read_text, write_text
from sdy.tools.command_line.loading import (
    add_compile_arguments,
    partition,
    with_lines,
    with_program_and_text,
)
from sdy.tools.command_line.output.console import console_of
from sdy.tools.command_line.output.several_files import SEVERAL_FILES, add_files_argument, run_files
from sdy.tools.command_line.output.verification import outcome_cells, show_comparisons, show_reduced
from sdy.tools.command_line.processes import add_processes_argument
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = f"""\
Read a StableHLO program with sdy shardings, propagate the shardings, and partition it into one program per device with
explicit collectives. Run the partitioned program on simulated devices and the original program on one device, and
compare every output. If an output differs, run both programs in 64-bit floats too: outputs that agree then only round
differently. A program that is too large for this machine is verified in smaller sizes.

With --prove, prove without a run that the program of each device computes the same results, apart from rounding: each
value of a device is related to a value of the original program, and each op follows by a lemma. No code of the
partitioner is used. With --local, prove the program in that file instead, on the shardings of arguments and results
that FILE ends up with.

The exit code is 0 if all outputs agree, or the program is proved; 1 if the partitioned program computes something else,
or an op has no proof; and 2 if the program could not be verified.

{SEVERAL_FILES} They are verified in parallel processes.
"""
MOST_LISTED = 10  # of the ops without a proof
PROVED = "proved: the programs compute the same, apart from rounding"
NOT_PROVED = "not proved, which need not be wrong: `sdy verify` runs both programs and compares their results"


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
        help="also run adversarial inputs: signed zeros, infinities, NaN, ties, integers and indices at their limits",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="also compare the programs in 64-bit floats if all outputs agree within the tolerances for their types",
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument(
        "--reduced",
        action="store_true",
        help="run both programs in smaller sizes that keep their structure, on random and adversarial inputs "
        "(default for a program that takes over ten minutes or more memory than is available)",
    )
    kinds.add_argument("--full", action="store_true", help="run the program in its own sizes, however long it takes")
    kinds.add_argument("--prove", action="store_true", help="prove that the programs compute the same; run nothing")
    parser.add_argument(
        "--local", metavar="LOCAL.mlir", help="with --prove, prove this program of one device instead of ours"
    )
    parser.add_argument("--seed", type=int, help="seed of the random inputs (default: 0)")
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
    if arguments.prove:
        check_not_given(arguments, "cannot be given with --prove", "inputs", "adversarial", "exact", "seed")
    else:
        check_not_given(arguments, "requires --prove", "local")
    return run_files(
        arguments,
        _verify_file,
        for_one_file=("inputs", "output", "local"),
        is_json=arguments.json,
        verdicts=("proved", "not proved") if arguments.prove else ("agree", "differ"),
        processes=arguments.processes,
    )


def _verify_file(arguments: Namespace) -> int:
    return with_program_and_text(arguments, lambda program, text: _verify(program, text, arguments))


def _verify(program: Program, text: str, arguments: Namespace) -> int:
    partitioned = partition(program, arguments.file, text, savings=arguments.savings)
    if arguments.output:
        write_text(arguments.output, print_module(partitioned.local))
    if arguments.prove:
        return _prove(program, partitioned, text, arguments)
    sizes = choose_sizes(
        partitioned,
        reduced=True if arguments.reduced else False if arguments.full else None,
        given=(arguments.inputs,),
        hint="sdy verify --reduced runs the program in smaller sizes",
    )
    if not sizes.is_reduced:
        return _verify_full(program, partitioned, arguments)
    if sizes.needed is not None:
        print(f"note: a run would take {sizes.needed}, so sizes are reduced; --full runs them all", file=sys.stderr)
    found = verify_reduced(partitioned, arguments.seed or 0, terminal_progress)
    if arguments.json:
        print_json(found.to_json())
    else:
        show_reduced(console_of(arguments), found, verbose=arguments.verbose)
    return SUCCESS if found.agrees else NO


def _prove(program: Program, partitioned: Compiled, text: str, arguments: Namespace) -> int:
    from sdy.evidence.proof.prove import prove  # imported here, because a run does not need it

    local, path = partitioned.local, arguments.file
    if arguments.local:
        path, text = arguments.local, read_text(arguments.local)
        local = parse_module(text, path)
    proof = prove(program.module, local, partitioned.boundary)
    if arguments.json:
        print_json(proof.to_json())
    else:
        _print_proof(proof, path, text.splitlines(), verbose=arguments.verbose)
    return SUCCESS if proof.is_proved else NO


def _print_proof(proof: Proof, path: str, lines: list[str], *, verbose: bool) -> None:
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


def _verify_full(program: Program, partitioned: Compiled, arguments: Namespace) -> int:
    stored = load_arrays(arguments.inputs) if arguments.inputs else None
    inputs = random_inputs(program.module, arguments.seed or 0) if stored is None else stored.inputs
    outputs = stored.outputs if stored is not None and stored.outputs else None
    check_arrays(main_function(program.module), inputs, outputs)
    exact = arguments.exact or None
    comparisons = compare_runs(partitioned, inputs, outputs, exact=exact, watch=terminal_progress)
    rounds = list(adversarial_rounds(partitioned, arguments.seed or 0)) if arguments.adversarial else []
    reference = "the stored outputs" if outputs else "the program on one device"
    if arguments.json:
        print_json(_document(partitioned, comparisons, rounds, reference, verbose=arguments.verbose))
    else:
        console = console_of(arguments)
        _show(console, partitioned, verbose=arguments.verbose)
        show_comparisons(console, comparisons, reference, verbose=arguments.verbose)
        if rounds:
            print_tables(console, rounds_table((each.name, *outcome_cells(each)) for each in rounds))
    return SUCCESS if _agree(comparisons, rounds) else NO


def _agree(comparisons: Sequence[OutputComparison], rounds: Sequence[VerifiedRound]) -> bool:
    return all(each.agrees for each in (*comparisons, *rounds))


def _document(
    partitioned: Compiled,
    comparisons: Sequence[OutputComparison],
    rounds: Sequence[VerifiedRound],
    reference: str,
    *,
    verbose: bool,
) -> dict[str, object]:
    """Return the outcome as plain data."""
    module = partitioned.global_module
    rows = [*boundary_rows(module, partitioned.origin.argument_names), *(value_rows(module) if verbose else ())]
    return {
        "agrees": _agree(comparisons, rounds),
        "reference": reference,
        "outputs": [each.to_json() for each in comparisons],
        "adversarial": [each.to_json() for each in rounds],
        "meshes": meshes_json(meshes_of(module)),
        "values": [asdict(row) for row in rows],
        "statistics": statistics_of(partitioned.local).to_json(),
    }


def _show(console: Console, partitioned: Compiled, *, verbose: bool) -> None:
    module = partitioned.global_module
    meshes = meshes_of(module)
    if meshes:
        print_tables(console, mesh_table(meshes))
    else:
        console.print(NO_MESH)
    rows = boundary_rows(module, partitioned.origin.argument_names)
    print_start(
        console, values_table("inputs and outputs", rows if verbose else without_similar(rows)), verbose=verbose
    )
    if verbose:
        print_tables(console, values_table("values", value_rows(module)))
    uses = collectives_of(partitioned.local, partitioned.boundary.mesh)
    if uses:
        print_tables(console, collectives_table(uses))
    else:
        console.print("no collectives")
