"""HTML fragments that notebooks show: the summary of a program, and tables.

They take the colours of the page around them, light or dark, and load nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from xdsl.dialects.builtin import ModuleOp

from sdy.cost.communication import collectives_of
from sdy.dialects.meshes import meshes_of
from sdy.report.boundary import BoundaryValue, boundary_values
from sdy.report.tables.fitted_table import FittedTable
from sdy.report.tables.program_tables import collectives_table, mesh_table, values_table
from sdy.report.trace_descriptions import dims_text
from sdy.report.value_rows import boundary_rows

_STYLE = "border-collapse:collapse;background:transparent;color:inherit;font-variant-numeric:tabular-nums"
_CELL = "padding:.15em 1em .15em 0;border-bottom:1px solid rgba(128,128,128,.4)"


def summary_html(headline: str, module: ModuleOp, argument_names: Sequence[str] = ()) -> str:
    """Return the fragment for a program that is described by one line, with the shardings that are annotated in it."""
    meshes = (
        f"<div>@{escape(name)}: {escape(', '.join(f'{axis.name}={axis.size}' for axis in mesh.axes))}, "
        f"{mesh.device_count} devices</div>"
        for name, mesh in meshes_of(module).items()
    )
    rows = (_row(_cells(each), "td") for each in boundary_values(module, argument_names))
    table = f'<table style="{_STYLE}">{_row(("value", "type", "annotated sharding"), "th")}{"".join(rows)}</table>'
    return f"<div><div><b>{escape(headline)}</b></div>{''.join(meshes)}{table}</div>"


def sharded_program_html(headline: str, module: ModuleOp, argument_names: Sequence[str]) -> str:
    """Return the tables of the meshes, and of the arguments and results with their shardings and local types."""
    return tables_html(headline, _boundary_tables(module, argument_names))


def partitioned_program_html(headline: str, module: ModuleOp, argument_names: Sequence[str]) -> str:
    """Return the tables of `sharded_program_html`, and that of the collectives with their bytes."""
    uses = collectives_of(module)
    collectives = [collectives_table(uses)] if uses else []
    return tables_html(headline, [*_boundary_tables(module, argument_names), *collectives])


def _boundary_tables(module: ModuleOp, argument_names: Sequence[str]) -> list[FittedTable]:
    rows = boundary_rows(module, argument_names)
    return [mesh_table(meshes_of(module)), values_table("arguments and results", rows)]


def tables_html(headline: str, tables: Iterable[FittedTable], notes: Iterable[str] = ()) -> str:
    """Return the fragment of tables under a headline, and of lines of text after them."""
    blocks = [f"<div><b>{escape(headline)}</b></div>", *map(_table_html, tables)]
    return f"<div>{''.join((*blocks, *(f'<div>{escape(note)}</div>' for note in notes)))}</div>"


def _table_html(table: FittedTable) -> str:
    """Return a table with its title, and the total below it if it has one."""
    rows = [_row(table.columns, "th", table.right), *(_row(row, "td", table.right) for row in table.rows)]
    footer = _row(table.footer, "th", table.right) if table.footer else ""
    caption = f'<caption style="text-align:left">{escape(table.title)}</caption>'
    return f'<table style="{_STYLE}">{caption}{"".join(rows)}{footer}</table>'


def _cells(value: BoundaryValue) -> tuple[str, str, str]:
    return value.name, str(value.type), "" if value.sharding is None else dims_text(value.sharding)


def _row(cells: Iterable[str], tag: str, right: Sequence[int] = ()) -> str:
    shown = (
        f'<{tag} style="text-align:{"right" if index in right else "left"};{_CELL}"><code>{escape(cell)}</code></{tag}>'
        for index, cell in enumerate(cells)
    )
    return f"<tr>{''.join(shown)}</tr>"
