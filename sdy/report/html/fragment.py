"""HTML fragments that notebooks show: a headline, cards, tables and pictures.

A fragment is self-contained. It has no script and loads nothing, and each of its style rules applies inside of it only.
It takes the colour of the text around it, so it is legible on light and on dark pages; axes have the report's colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from sdy.diagnostics.wording import counted
from sdy.model.mesh import Mesh
from sdy.report.html.markup import AxisColours, markup_table
from sdy.report.tables.fitted_table import FittedTable

MAX_ROWS = 40  # of a table; a note counts the others
MAX_CELL = 240  # characters of a cell
LONG_CELL = 48  # characters from which a cell may have several lines
_SHARDINGS, _SPECS = ("sharding", "axes", "axis"), ("P(",)


def fragment(headline: str, blocks: Iterable[str], notes: Iterable[str] = ()) -> str:
    """Return a fragment: a line of text, blocks of markup, and lines of text after them."""
    last = (f'<div class="note">{escape(note)}</div>' for note in notes)
    body = "".join((f'<div class="headline">{escape(headline)}</div>', *blocks, *last))
    return f'<div class="sdy-html"><style>{_style()}</style>{body}</div>'


@cache
def _style() -> str:
    return files("sdy.report.html").joinpath("fragment.css").read_text("utf-8")


def colours_of(meshes: Iterable[Mesh]) -> AxisColours:
    """Return colours for the axes of meshes, in the order of the report."""
    return AxisColours(axis.name for mesh in meshes for axis in mesh.axes)


def meshes_block(meshes: Mapping[str, Mesh], colours: AxisColours) -> str:
    """Return markup of meshes: the name, the axes with their sizes, and the number of devices of each."""
    shown = (f"<div>{mesh_line(f'@{name}', mesh, colours)}</div>" for name, mesh in meshes.items())
    return f'<div class="meshes">{"".join(shown)}</div>'


def mesh_line(name: str, mesh: Mesh, colours: AxisColours) -> str:
    """Return markup of one mesh on a line."""
    axes = " ".join(colours.chip(axis.name, f"{axis.name}={axis.size}") for axis in mesh.axes)
    return " ".join(filter(None, (escape(name), axes, counted(mesh.device_count, "device"))))


def table_block(table: FittedTable, colours: AxisColours) -> str:
    """Return markup of a table with its title and at most `MAX_ROWS` rows; shardings have their axes in colour."""
    marked = [index for index, column in enumerate(table.columns) if any(word in column for word in _SHARDINGS)]
    rows = [
        [_cell(cell, colours, is_sharding=index in marked) for index, cell in enumerate(row)]
        for row in table.rows[:MAX_ROWS]
    ]
    columns, footer = (list(map(escape, cells)) for cells in (table.columns, table.footer))
    return titled(table.title, markup_table(columns, rows, table.right, footer), len(table.rows) - MAX_ROWS)


def titled(title: str, content: str, hidden: int = 0) -> str:
    """Return content under a title, and a note on the number of rows that are hidden, if any are."""
    note = f'<div class="note">… {hidden:,} more rows</div>' if hidden > 0 else ""
    return f'<div class="title">{escape(title)}</div>{content}{note}'


def _cell(text: str, colours: AxisColours, *, is_sharding: bool) -> str:
    shown = clipped(text)
    if not is_sharding:
        return f'<div class="long">{escape(shown)}</div>' if len(text) > LONG_CELL else escape(shown)
    return colours.marked_spec(shown) if shown.startswith(_SPECS) else colours.marked(shown)


def clipped(text: str) -> str:
    """Return a text without what follows its first `MAX_CELL` characters."""
    return text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]} …"


def tables_html(
    headline: str, tables: Sequence[FittedTable], notes: Iterable[str] = (), meshes: Mapping[str, Mesh] | None = None
) -> str:
    """Return a fragment of meshes and tables, with lines of text after them."""
    colours = colours_of((meshes or {}).values())
    first = [meshes_block(meshes, colours)] if meshes else []
    return fragment(headline, [*first, *(table_block(table, colours) for table in tables)], notes)
