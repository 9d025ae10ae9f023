"""A partitioned program on one page: where its values lie, what its devices tell each other, what was in conflict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

from rich.console import Console
from xdsl.dialects.builtin import ModuleOp

from sdy.cost.communication import collectives_with_ops
from sdy.diagnostics.diagnostic import Diagnostic
from sdy.diagnostics.render import render
from sdy.dialects.meshes import meshes_of
from sdy.report.explain import Explainer
from sdy.report.tables import mesh_table, placed_collectives_table, values_table
from sdy.report.value_names import line_of
from sdy.report.value_rows import ValueRow

WIDTH = 120


def program_report(
    whole: ModuleOp,
    boundary: Iterable[ValueRow],
    explainer: Explainer,
    source_lines: Mapping[int, str],
    remarks: Sequence[Diagnostic],
) -> str:
    """The report of a program with explicit collectives on whole tensors.

    `source_lines` tells the line of another program behind a line of the text: `{7: "train.py:12"}`.
    """
    console = Console(file=StringIO(), width=WIDTH, highlight=False)

    def place(line: int | None) -> str:
        if line is None:
            return ""
        return source_lines.get(line, f"line {line}")

    console.print(mesh_table(meshes_of(whole)))
    console.print(values_table("arguments and results", boundary))
    uses = Counter((place(line_of(op)), use) for op, use in collectives_with_ops(whole))
    console.print(placed_collectives_table(uses) if uses else "no collectives")
    console.print("[bold]conflicts[/bold]")
    for line in explainer.conflicts():
        console.print(f"  {line}", markup=False)
    for remark in remarks:
        console.print(render(remark), markup=False)
    stream = console.file
    assert isinstance(stream, StringIO)
    return stream.getvalue()
