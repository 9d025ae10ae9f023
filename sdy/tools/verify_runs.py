"""The runs of `sdy verify`: in which sizes, and what is printed of them."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from sdy.compile.compiled import Compiled
from sdy.cost.statistics import statistics_of
from sdy.cost.traffic import collectives_of
from sdy.diagnostics.diagnostic import render
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.documents.document import document
from sdy.evidence.runs.against import verify_against
from sdy.evidence.runs.arrays import arrays_of_file
from sdy.evidence.runs.comparison import OutputComparison, VerifiedRound
from sdy.evidence.runs.reduced import choose_sizes, verify_reduced
from sdy.evidence.runs.verification import ReducedSizes, Verdict, Verification, chance_text, verify_sizes_as_they_are
from sdy.program.program import Program
from sdy.report.boundary import boundary_rows, meshes_json, value_rows
from sdy.report.run_progress import terminal_progress
from sdy.report.similar_entries import MOST_ENTRIES, rest_text
from sdy.report.tables.fitted_table import fitted_table, print_start, print_tables
from sdy.report.tables.program_tables import (
    NO_MESH,
    collectives_table,
    errors_table,
    mesh_table,
    print_boundary,
    values_table,
)
from sdy.tools.command_line.arguments import print_json
from sdy.tools.command_line.console import console_of
from sdy.tools.command_line.exit_codes import NO, SUCCESS
from sdy.tools.command_line.loading import with_program

MOST_SIZES = 12  # that are listed unless all are asked for


def verify_by_runs(program: Program, partitioned: Compiled, arguments: Namespace) -> int:
    """Run the program, or that of `--against`, and the partitioned one; print whether they compute the same."""
    if arguments.against:
        reference = with_program(arguments, lambda loaded: loaded.module, arguments.against)
        found = verify_against(reference, partitioned, arguments.seed or 0, watch=terminal_progress)
        return _print_verification(partitioned, found, arguments.against, arguments)
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
    return document(
        "Verification",
        found,
        reason=found.undecided,
        reference=reference,
        outputs=found.comparisons,
        meshes=meshes_json(meshes_of(module)),
        values=rows,
        statistics=statistics_of(partitioned.local),
    )


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
        rounds = ((each.name, *outcome_cells(each)) for each in found.rounds)
        table = fitted_table("inputs", ("inputs", "outputs that differ", ""), rounds, right=(1,))
        print_start(console, table, verbose=verbose)
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
        cells = ((str(before), str(after), str(count), reason) for (before, after, reason), count in shown)
        columns = ("size", "reduced to", "dims", "kept because")
        print_tables(console, fitted_table("sizes", columns, cells, right=(0, 1, 2)))
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
