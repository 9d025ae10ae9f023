"""The text of `sdy report`: meshes, shardings of arguments and results, collectives, conflicts and remarks."""

from __future__ import annotations

from collections import Counter
from io import StringIO
from typing import Any

from rich.console import Console

from sdy.compile.compiled import Compiled
from sdy.cost.collective_uses import CollectiveUse, executed_collectives
from sdy.diagnostics.diagnostic import Diagnostic, render
from sdy.diagnostics.wording import first_names
from sdy.dialects.meshes import meshes_of
from sdy.report.explanation.explainer import Explainer
from sdy.report.explanation.value_names import line_of, source_text
from sdy.report.similar_entries import groups_of_similar, without_names
from sdy.report.tables.fitted_table import print_start, print_tables
from sdy.report.tables.program_tables import NO_MESH, mesh_table, placed_collectives_table, values_table
from sdy.report.value_rows import boundary_rows, without_similar

WIDTH = 80

Placed = tuple[str, CollectiveUse]  # a collective on a source line, or on several


def program_report(program: Compiled[Any], explainer: Explainer, width: int = WIDTH, *, verbose: bool = False) -> str:
    """Return the report on a partitioned program, whose propagation `explainer` explains.

    Tables are at most `width` columns wide. Unless `verbose`, entries of long lists that differ only in names and lines
    share one.
    """
    console = Console(file=StringIO(), width=width, highlight=False)

    meshes = meshes_of(program.global_module)
    if meshes:
        print_tables(console, mesh_table(meshes))
    else:
        console.print(NO_MESH)
    boundary = boundary_rows(program.global_module, program.origin.argument_names)
    rows = boundary if verbose else without_similar(boundary)
    print_start(console, values_table("arguments and results", rows), verbose=verbose)
    uses = Counter[Placed]()
    for op, use, times in executed_collectives(program.local, program.mesh):
        uses[source_text(line_of(op), program.origin.source_lines), use] += times
    if uses:
        print_start(console, placed_collectives_table(_without_lines(uses, verbose=verbose)), verbose=verbose)
    else:
        console.print("no collectives")
    console.print("[bold]conflicts[/bold]")
    for line in explainer.conflicts(verbose=verbose):
        console.print(f"  {line}", markup=False, soft_wrap=True)
    for remark, *others in groups_of_similar(program.remarks, _remark_without_lines, verbose=verbose):
        text = f"{render(remark)} ({len(others)} more like it)" if others else render(remark)
        console.print(text, markup=False, soft_wrap=True)
    stream = console.file
    assert isinstance(stream, StringIO)
    return stream.getvalue()


def _remark_without_lines(remark: Diagnostic) -> tuple[str, str]:
    return remark.code, without_names(remark.message)


def _without_lines(uses: Counter[Placed], *, verbose: bool) -> Counter[Placed]:
    """Join equal collectives of several lines if the list is long; then those come first that send most."""
    groups = groups_of_similar(list(uses), lambda placed: placed[1], verbose=verbose)
    joined = Counter[Placed]()
    for group in groups:
        sources = dict.fromkeys(source for source, _ in group)
        joined[first_names(list(sources)), group[0][1]] += sum(uses[placed] for placed in group)
    if len(groups) == len(uses):
        return joined
    by_bytes = sorted(joined.items(), key=lambda item: -item[0][1].bytes_per_device * item[1])
    return Counter(dict(by_bytes))
