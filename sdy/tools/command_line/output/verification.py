"""Prints the outcome of a verification: the errors of each output, the sizes of a reduced one, and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from sdy.evidence.runs.adversarial import VerifiedRound
from sdy.evidence.runs.comparison import OutputComparison
from sdy.evidence.runs.reduced import ReducedVerification
from sdy.report.similar_entries import MOST_ENTRIES, rest_text
from sdy.report.tables.fitted_table import print_start, print_tables
from sdy.report.tables.program_tables import errors_table, rounds_table, sizes_table

MOST_SIZES = 12  # that are listed unless all are asked for


def show_reduced(console: Console, found: ReducedVerification, *, verbose: bool) -> None:
    """Print how sizes were reduced, and whether the outputs agree on each kind of inputs."""
    rows: Counter[tuple[int, int, str]] = Counter()
    for each in found.changes:
        if each.after < each.before or (each.reason and each.before > 2):
            rows[each.before, each.after, each.reason or ""] += each.dims
    ordered = sorted(rows.items(), key=lambda row: (-row[0][1], -row[0][0]))
    shown = ordered if verbose else ordered[:MOST_SIZES]
    if found.changes:
        print_tables(console, sizes_table((str(a), str(b), str(count), reason) for (a, b, reason), count in shown))
    if len(shown) < len(ordered):
        console.print(rest_text(len(ordered) - len(shown)), markup=False)
    print_tables(console, rounds_table(((each.name, *outcome_cells(each)) for each in found.rounds), "inputs"))
    before, after = found.devices
    devices = f"all {before} devices" if before == after else f"{after} of {before} devices"
    sizes = "reduced sizes" if found.changes else "the sizes of the program, not in reduced ones"
    verdict = f"[green]all outputs agree in {sizes}[/green]" if found.agrees else "[red]outputs differ[/red]"
    console.print(f"{verdict}; {found.ops} ops of the program and {found.local_ops} of the local one ran, on {devices}")


def outcome_cells(found: VerifiedRound) -> tuple[str, str]:
    """Return the number of outputs that differ, and the first difference."""
    wrong = [each for each in found.comparisons if not each.agrees]
    return str(len(wrong)), f"output {wrong[0].index}: {wrong[0].problem}" if wrong else "all agree"


def show_comparisons(
    console: Console, comparisons: Sequence[OutputComparison], reference: str, *, verbose: bool
) -> None:
    """Print the errors of the outputs, and whether they agree. Of many outputs, show those with the largest errors."""
    shown = comparisons
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
        amplified = sum(each.amplification is not None for each in comparisons)
        if amplified:
            verdict += f", {amplified} of them only up to rounding, which the program amplifies"
    console.print(f"{verdict}; largest absolute error {absolute:.3g}, relative {relative:.3g}")
    undefined = [each for each in comparisons if each.undefined]
    if undefined:
        count = sum(each.undefined for each in undefined)
        console.print(f"{count} elements of {len(undefined)} outputs are NaN or infinite, which shows little")
        console.print("hint: other inputs may avoid this: --seed=N for other random ones, --inputs=X.npz for your own")
