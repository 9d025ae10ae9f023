"""`sdy verify`: checks that the partitioned program computes the same results as the original one."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from rich.console import Console

from sdy.compile.compiled import Compiled
from sdy.cost.statistics import statistics_of
from sdy.cost.traffic import collectives_of
from sdy.diagnostics.diagnostic import render
from sdy.diagnostics.wording import counted
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import print_module
from sdy.evidence.local_program import local_program
from sdy.evidence.proof.outcome import Proof
from sdy.evidence.runs.against import verify_against
from sdy.evidence.runs.arrays import arrays_of_file
from sdy.evidence.runs.comparison import OutputComparison, VerifiedRound
from sdy.evidence.runs.reduced import choose_sizes, verify_reduced
from sdy.evidence.runs.verification import ReducedSizes, Verdict, Verification, chance_text, verify_sizes_as_they_are
from sdy.program.program import Program
from sdy.report.run_progress import terminal_progress
from sdy.report.similar_entries import MOST_ENTRIES, rest_text
from sdy.report.tables.fitted_table import print_start, print_tables
from sdy.report.tables.program_tables import (
    NO_MESH,
    collectives_table,
    errors_table,
    mesh_table,
    print_boundary,
    rounds_table,
    sizes_table,
    values_table,
)
from sdy.report.value_rows import boundary_rows, meshes_json, value_rows
from sdy.tools.command_line.arguments import add_json_argument, check_not_given, print_json
from sdy.tools.command_line.console import console_of
from sdy.tools.command_line.exit_codes import NO, SUCCESS
from sdy.tools.command_line.files import read_text, write_text
from sdy.tools.command_line.loading import (
    MESH_TENSOR,
    add_compile_arguments,
    partition,
    with_lines,
    with_program,
    with_program_and_text,
)
from sdy.tools.command_line.processes import add_processes_argument
from sdy.tools.command_line.several_files import SEVERAL_FILES, add_files_argument, run_files
from sdy.tools.command_line.subcommand_parser import SubcommandParser

if TYPE_CHECKING:
    from sdy.program.pipeline import Pipeline

MOST_SIZES = 12  # that are listed unless all are asked for

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
    def verified(program: Program, text: str) -> int:
        status = _verify(program, text, arguments)
        if program.origin.warnings and not arguments.json:
            count = counted(len(program.origin.warnings), "annotation")
            print(f"{count} of the text ignored, so the program may be sharded otherwise than meant: see the warnings")
        return status

    def verified_pipeline(pipeline: Pipeline, text: str) -> int:
        from sdy.tools.pipelines import verify  # imported here, because few programs have several meshes

        return verify(arguments, pipeline, text)

    return with_program_and_text(arguments, verified, use_pipeline=verified_pipeline)


def _verify(program: Program, text: str, arguments: Namespace) -> int:
    partitioned = partition(program, arguments.file, text, savings=arguments.savings)
    if arguments.output:
        write_text(arguments.output, print_module(partitioned.local))
    if arguments.against:
        reference = with_program(arguments, lambda loaded: loaded.module, arguments.against)
        found = verify_against(reference, partitioned, arguments.seed or 0, watch=terminal_progress)
        return _print_verification(partitioned, found, arguments.against, arguments)
    path = arguments.file
    if arguments.local:
        path, text = arguments.local, read_text(arguments.local)
        if MESH_TENSOR in text:
            from sdy.tools.pipelines import verify_local  # as above

            return verify_local(arguments, partitioned)
        partitioned = replace(partitioned, local=local_program(text, path, partitioned.boundary))
    if arguments.prove:
        return _prove(partitioned, path, text, arguments)
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
        show_rounds(console_of(arguments), found, verbose=arguments.verbose)
    return SUCCESS if found.agrees else NO


def _prove(partitioned: Compiled, path: str, text: str, arguments: Namespace) -> int:
    from sdy.evidence.whole_proof import prove  # imported here, because a run does not need it

    proof = prove(partitioned, terminal_progress)
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


def _verify_full(program: Program, partitioned: Compiled, arguments: Namespace) -> int:
    inputs, outputs = arrays_of_file(arguments.inputs, main_function(program.module))
    seed, special = arguments.seed or 0, arguments.adversarial
    found = verify_sizes_as_they_are(partitioned, seed, inputs, outputs, special=special, watch=terminal_progress)
    reference = "the stored outputs" if outputs else "the program on one device"
    return _print_verification(partitioned, found, reference, arguments)


def _print_verification(partitioned: Compiled, found: Verification, reference: str, arguments: Namespace) -> int:
    if arguments.json:
        print_json(_document(partitioned, found, reference, verbose=arguments.verbose))
    else:
        console = console_of(arguments)
        _show(console, partitioned, verbose=arguments.verbose)
        if found.floats or not found.agrees:
            show_comparisons(console, found, reference, verbose=arguments.verbose)
        show_rounds(console, found, reference, verbose=arguments.verbose)
    return SUCCESS if found.agrees else NO


def _document(partitioned: Compiled, found: Verification, reference: str, *, verbose: bool) -> dict[str, object]:
    """Return the outcome as plain data."""
    module = partitioned.global_module
    rows = [*boundary_rows(module, partitioned.origin.argument_names), *(value_rows(module) if verbose else ())]
    return {
        **found.to_json(),
        "reference": reference,
        "outputs": [each.to_json() for each in found.comparisons],
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
    print_boundary(console, rows, verbose=verbose)
    if verbose:
        print_tables(console, values_table("values", value_rows(module)))
    uses = collectives_of(partitioned.local, partitioned.boundary.mesh)
    if uses:
        print_tables(console, collectives_table(uses))
    else:
        console.print("no collectives")


def show_rounds(
    console: Console, found: Verification, reference: str = "the program on one device", *, verbose: bool
) -> None:
    """Print how sizes were reduced, whether the outputs agree on each kind of inputs, and what that shows."""
    if found.sizes is not None:
        _show_sizes(console, found.sizes, verbose=verbose)
    if found.rounds:
        print_start(console, rounds_table((each.name, *outcome_cells(each)) for each in found.rounds), verbose=verbose)
    if found.verdict is Verdict.UNDECIDED:
        console.print(f"not decided: {found.undecided}; results of floats agree within rounding", markup=False)
        return
    where = ""
    if found.sizes is not None:
        before, after = found.sizes.devices
        devices = f"all {before} devices" if before == after else f"{after} of {before} devices"
        sizes = "in reduced sizes" if found.sizes.changes else "in the sizes of the program, not in reduced ones"
        where = (
            f" {sizes}, on {devices}; {found.sizes.ops} ops of the program and {found.sizes.local_ops} of the local one"
        )
        where += " ran"
    if found.verdict is Verdict.DIFFERS:
        console.print(f"[red]differs[/red]{where}")
        if found.parting is not None:
            console.print(render(found.parting), markup=False)
        return
    console.print(
        f"[green]the same function[/green] as {reference}{where}; "
        f"the chance of an error is below {chance_text(found.chance)}"
    )
    for each in found.not_reached:
        console.print(f"not reached: {each}", markup=False)


def _show_sizes(console: Console, reduced: ReducedSizes, *, verbose: bool) -> None:
    rows: Counter[tuple[int, int, str]] = Counter()
    for each in reduced.changes:
        if each.after < each.before or (each.reason and each.before > 2):
            rows[each.before, each.after, each.reason or ""] += each.dims
    ordered = sorted(rows.items(), key=lambda row: (-row[0][1], -row[0][0]))
    shown = ordered if verbose else ordered[:MOST_SIZES]
    if reduced.changes:
        print_tables(console, sizes_table((str(a), str(b), str(count), reason) for (a, b, reason), count in shown))
    if len(shown) < len(ordered):
        console.print(rest_text(len(ordered) - len(shown)), markup=False)


def outcome_cells(found: VerifiedRound) -> tuple[str, str]:
    """Return the number of outputs that differ, and the first difference."""
    wrong = [each for each in found.comparisons if not each.agrees]
    return str(len(wrong)), f"output {wrong[0].index}: {wrong[0].problem}" if wrong else "all agree"


def show_comparisons(console: Console, found: Verification, reference: str, *, verbose: bool) -> None:
    """Print the errors of floats, and what differs. Of many outputs, show those with the largest errors."""
    comparisons = found.comparisons
    shown: Sequence[OutputComparison] = comparisons
    if len(comparisons) > MOST_ENTRIES and not verbose:
        shown = sorted(comparisons, key=lambda each: (each.agrees, -each.relative_error))
    rows = (
        (str(each.index), f"{each.absolute_error:.3g}", f"{each.relative_error:.3g}", each.outcome) for each in shown
    )
    print_start(console, errors_table(rows), verbose=verbose)
    absolute = max((each.absolute_error for each in comparisons), default=0.0)
    relative = max((each.relative_error for each in comparisons), default=0.0)
    wrong = sum(not each.agrees for each in comparisons)
    verdict = f"[red]{wrong} of {len(comparisons)} outputs differ from {reference}[/red]"
    if not wrong:
        agreement = "the output agrees" if len(comparisons) == 1 else f"all {len(comparisons)} outputs agree"
        verdict = f"[green]{agreement} with {reference}[/green]"
    console.print(f"{verdict}; largest rounding error of floats {absolute:.3g}, relative {relative:.3g}")
    undefined = [each for each in comparisons if each.undefined]
    if undefined:
        count = sum(each.undefined for each in undefined)
        console.print(f"{count} elements of {len(undefined)} outputs are NaN or infinite, which shows little")
        console.print("hint: other inputs may avoid this: --seed=N for other draws, --inputs=X.npz for your own arrays")
