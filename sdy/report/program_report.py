"""The text of `sdy report`: meshes, shardings of arguments and results, collectives, conflicts and remarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

from rich.console import Console
from xdsl.dialects.builtin import ModuleOp

from sdy.cost.communication import CollectiveUse, executed_collectives
from sdy.diagnostics.diagnostic import Diagnostic, render
from sdy.dialects.meshes import meshes_of
from sdy.report.explain import Explainer
from sdy.report.tables.fitted_table import print_tables
from sdy.report.tables.program_tables import NO_MESH, mesh_table, placed_collectives_table, values_table
from sdy.report.value_names import line_of, source_text
from sdy.report.value_rows import ValueRow

WIDTH = 80


def program_report(
    global_module: ModuleOp,
    boundary: Iterable[ValueRow],
    explainer: Explainer,
    source_lines: Mapping[int, str],
    remarks: Sequence[Diagnostic],
    width: int = WIDTH,
) -> str:
    """Return the report on a partitioned program on global shapes.

    `source_lines` maps lines of the text to the lines of another program it was generated from: `{7: "train.py:12"}`.
    Tables are at most `width` columns wide.
    """
    console = Console(file=StringIO(), width=width, highlight=False)

    meshes = meshes_of(global_module)
    if meshes:
        print_tables(console, mesh_table(meshes))
    else:
        console.print(NO_MESH)
    print_tables(console, values_table("arguments and results", boundary))
    uses = Counter[tuple[str, CollectiveUse]]()
    for op, use, times in executed_collectives(global_module):
        uses[source_text(line_of(op), source_lines), use] += times
    if uses:
        print_tables(console, placed_collectives_table(uses))
    else:
        console.print("no collectives")
    console.print("[bold]conflicts[/bold]")
    for line in explainer.conflicts():
        console.print(f"  {line}", markup=False, soft_wrap=True)
    for remark in remarks:
        console.print(render(remark), markup=False, soft_wrap=True)
    stream = console.file
    assert isinstance(stream, StringIO)
    return stream.getvalue()
