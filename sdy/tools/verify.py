"""`sdy verify`: checks that the partitioned program computes the same results as the original one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console

from sdy.advice.report_json import meshes_json
from sdy.cost.communication import collectives_of
from sdy.cost.statistics import statistics_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import print_module
from sdy.interpreter.inputs import check_inputs
from sdy.program.adversarial import AdversarialRound, adversarial_rounds
from sdy.program.arrays import StoredArrays, load_arrays, random_inputs
from sdy.program.comparison import OutputComparison
from sdy.program.partitioned import PartitionedProgram
from sdy.program.program import Program
from sdy.report.tables.fitted_table import print_tables
from sdy.report.tables.program_tables import (
    NO_MESH,
    collectives_table,
    errors_table,
    mesh_table,
    rounds_table,
    values_table,
)
from sdy.report.value_rows import boundary_rows, value_rows
from sdy.tools.command_line.arguments import add_json_argument, print_json
from sdy.tools.command_line.console import console_of
from sdy.tools.command_line.exit_codes import NO, SUCCESS
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import (
    add_optimizer_arguments,
    partition,
    with_optimizer_option,
    with_program_and_text,
)
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = """\
Read a StableHLO program with sdy shardings, propagate the shardings, and partition it into one program per device with
explicit collectives. Run the partitioned program on simulated devices and the original program on one device, and
compare every output. If an output differs, run both programs in 64-bit floats too: outputs that agree then only round
differently. The exit code is 1 if the partitioned program computes something else, and 0 otherwise.
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("verify", DESCRIPTION)
    parser.add_argument("file", help="StableHLO text with sdy shardings; - for standard input")
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
    parser.add_argument("--seed", type=int, default=0, help="seed of the random inputs (default: 0)")
    parser.add_argument("-o", "--output", metavar="LOCAL.mlir", help="also write the program that each device runs")
    parser.add_argument("-v", "--verbose", action="store_true", help="list every value, not only inputs and outputs")
    add_json_argument(parser)
    add_optimizer_arguments(parser)
    return parser


def run(arguments: Namespace) -> int:
    """Verify the program and print the results."""
    return with_program_and_text(arguments.file, lambda program, text: _verify(program, text, arguments))


def _verify(program: Program, text: str, arguments: Namespace) -> int:
    if arguments.inputs:
        stored = load_arrays(arguments.inputs)
        # Without arrays, `verify` would use random ones.
        check_inputs(main_function(program.module), [(array.shape, array.dtype) for array in stored.inputs])
    else:
        stored = StoredArrays(random_inputs(program.module, arguments.seed), ())
    program = with_optimizer_option(program, arguments)
    partitioned = partition(program, arguments.file, text, savings=arguments.savings)
    if arguments.output:
        write_text(arguments.output, print_module(partitioned.local))
    comparisons = program.verify(*stored.inputs, expected=stored.outputs, exact=arguments.exact or None)
    reference = "the stored outputs" if stored.outputs else "the program on one device"
    rounds = list(adversarial_rounds(program, arguments.seed)) if arguments.adversarial else []
    if arguments.json:
        print_json(_document(partitioned, comparisons, rounds, reference, verbose=arguments.verbose))
    else:
        console = console_of(arguments)
        _show(console, partitioned, verbose=arguments.verbose)
        _show_comparisons(console, comparisons, reference)
        if rounds:
            print_tables(console, rounds_table((each.name, *_outcome(each)) for each in rounds))
    return SUCCESS if _agree(comparisons, rounds) else NO


def _agree(comparisons: Sequence[OutputComparison], rounds: Sequence[AdversarialRound]) -> bool:
    return all(each.agrees for each in (*comparisons, *rounds))


def _document(
    partitioned: PartitionedProgram,
    comparisons: Sequence[OutputComparison],
    rounds: Sequence[AdversarialRound],
    reference: str,
    *,
    verbose: bool,
) -> dict[str, object]:
    """Return the outcome as plain data."""
    module = partitioned.global_module
    rows = [*boundary_rows(module), *(value_rows(module) if verbose else ())]
    return {
        "agrees": _agree(comparisons, rounds),
        "reference": reference,
        "outputs": [each.to_json() for each in comparisons],
        "adversarial": [
            {"inputs": each.name, "agrees": each.agrees, "outputs": [output.to_json() for output in each.comparisons]}
            for each in rounds
        ],
        "meshes": meshes_json(meshes_of(module)),
        "values": [asdict(row) for row in rows],
        "statistics": statistics_of(partitioned.local).to_json(),
    }


def _outcome(found: AdversarialRound) -> tuple[str, str]:
    """Return the number of outputs that differ, and the first difference."""
    wrong = [each for each in found.comparisons if not each.agrees]
    return str(len(wrong)), f"output {wrong[0].index}: {wrong[0].problem}" if wrong else "all agree"


def _show(console: Console, partitioned: PartitionedProgram, *, verbose: bool) -> None:
    module = partitioned.global_module
    meshes = meshes_of(module)
    if meshes:
        print_tables(console, mesh_table(meshes))
    else:
        console.print(NO_MESH)
    print_tables(console, values_table("inputs and outputs", boundary_rows(module)))
    if verbose:
        print_tables(console, values_table("values", value_rows(module)))
    uses = collectives_of(module)
    if uses:
        print_tables(console, collectives_table(uses))
    else:
        console.print("no collectives")


def _result(comparison: OutputComparison) -> str:
    if comparison.amplification is None:
        return comparison.problem or "agrees"
    return f"rounds differently; rounding errors are amplified {comparison.amplification:.1g} times"


def _show_comparisons(console: Console, comparisons: list[OutputComparison], reference: str) -> None:
    rows = (
        (str(each.index), f"{each.absolute_error:.3g}", f"{each.relative_error:.3g}", _result(each))
        for each in comparisons
    )
    print_tables(console, errors_table(rows))
    absolute = max((each.absolute_error for each in comparisons), default=0.0)
    relative = max((each.relative_error for each in comparisons), default=0.0)
    wrong = sum(not each.agrees for each in comparisons)
    verdict = f"[red]{wrong} of {len(comparisons)} outputs differ from {reference}[/red]"
    if not wrong:
        agreement = "the output agrees" if len(comparisons) == 1 else f"all {len(comparisons)} outputs agree"
        verdict = f"[green]{agreement} with {reference}[/green]"
        amplified = sum(each.amplification is not None for each in comparisons)
        if amplified:
            verdict += f", {amplified} of them only up to rounding, which the program amplifies"
    console.print(f"{verdict}; largest absolute error {absolute:.3g}, relative {relative:.3g}")
    undefined = [each for each in comparisons if each.undefined]
    if undefined:
        count = sum(each.undefined for each in undefined)
        console.print(f"{count} elements of {len(undefined)} outputs are NaN or infinite, which shows little")
        console.print("hint: other inputs may avoid this: --seed=N for other random ones, --inputs=X.npz for your own")
