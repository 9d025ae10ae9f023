"""Cards, tables and mesh axes in colour as HTML markup; the static pages and the fragments that are made of it.

A page is self-contained, in the style of the report, and without scripts but for its theme. A fragment is what
notebooks show. It has no script and loads nothing, and each of its style rules applies inside of it only. It takes the
colour of the text around it, so it is legible on light and on dark pages; axes have the report's colours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from sdy.diagnostics.wording import counted
from sdy.model.mesh import Mesh
from sdy.report.tables.fitted_table import FittedTable

# The colours of the axes of a mesh, in the order in which a page names them; further axes use them again.
HUES = ("#2f6fed", "#d9480f", "#2b9348", "#a23bc9", "#c2255c", "#0b8fa8", "#8a6d00", "#5c5f9e")

_AXIS = re.compile(r'"([^"]*)"(:\(\d+\)\d+)?')
_SPEC_AXIS = re.compile(r"'([^']*)'()")


def hue_properties() -> str:
    """Return the colours of axes as custom properties of CSS: `--hue-0: #2f6fed; ...`."""
    return " ".join(f"--hue-{index}: {colour};" for index, colour in enumerate(HUES))


def cards(rows: Iterable[tuple[str, str, str]]) -> str:
    """Return markup of large numbers, from the text, the description and the tone of each: "good", "bad" or ""."""
    shown = (
        f'<div class="card"><b class="{escape(tone)}">{escape(text)}</b><span>{escape(description)}</span></div>'
        for text, description, tone in rows
    )
    return f'<div class="cards">{"".join(shown)}</div>'


def markup_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[int] = (),
    footer: Sequence[str] = (),
    tones: Sequence[str] = (),
) -> str:
    """Return markup of a table whose cells are markup; columns with an index in `right` are right-aligned.

    `footer` is a last row, if it is not empty. `tones` has the class of each row, or is empty.
    """

    def row(cells: Sequence[str], tag: str, tone: str = "") -> str:
        classes = (' class="number"' if index in right else "" for index in range(len(cells)))
        shown = (f"<{tag}{one}>{cell}</{tag}>" for one, cell in zip(classes, cells, strict=True))
        start = f'<tr class="{escape(tone)}">' if tone else "<tr>"
        return f"{start}{''.join(shown)}</tr>"

    listed = list(rows)
    body = "".join(row(cells, "td", tone) for cells, tone in zip(listed, tones or [""] * len(listed), strict=True))
    last = f"<tfoot>{row(footer, 'th')}</tfoot>" if footer else ""
    return f'<div class="scroll"><table><thead>{row(columns, "th")}</thead><tbody>{body}</tbody>{last}</table></div>'


class AxisColours:
    """Marks the axes in texts by colour; an axis has the same colour throughout a page.

    `names` are the axes that come first in the order of colours: those of the mesh.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._hues: dict[str, int] = {}
        for name in names:
            self.hue(name)

    def hue(self, name: str) -> str:
        """Return the colour of an axis."""
        return HUES[self._hues.setdefault(name, len(self._hues)) % len(HUES)]

    def chip(self, name: str, text: str) -> str:
        """Return a text as markup in the colour of an axis."""
        return f'<span class="axis" style="--axis:{self.hue(name)}">{escape(text)}</span>'

    def marked(self, text: str) -> str:
        """Return the text as markup, with each axis, such as "x" or "x":(1)2, in the colour of its name."""
        return self._marked(_AXIS, text)

    def marked_spec(self, text: str) -> str:
        """Return a PartitionSpec, such as P('x', None), as markup with its axes in colour."""
        return self._marked(_SPEC_AXIS, text)

    def _marked(self, pattern: re.Pattern[str], text: str) -> str:
        parts: list[str] = []
        end = 0
        for found in pattern.finditer(text):
            parts += [escape(text[end : found.start()]), self.chip(found[1], found[1] + (found[2] or ""))]
            end = found.end()
        parts.append(escape(text[end:]))
        return f'<span class="mono">{"".join(parts)}</span>'


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: {kind}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<header>
  <h1>{title}<small>{kind}</small></h1>
  <nav>{links}<button id="theme" type="button" title="Light or dark" aria-label="Light or dark">◐</button></nav>
</header>
<div id="layout" class="single"><main>
{sections}
</main></div>
<script>
"use strict";
const setTheme = (theme) => document.documentElement.setAttribute("data-theme", theme);
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
document.getElementById("theme").addEventListener("click", () =>
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
</script>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class PageSection:
    """A section of a page: its title, a note beside it, and its content as markup."""

    title: str
    content: str
    note: str = ""


def static_page(title: str, kind: str, sections: Sequence[PageSection]) -> str:
    """Return the text of a page; `kind` says what it shows of the program that the title names."""
    named = [(f"section-{index}", section) for index, section in enumerate(sections)]
    return _PAGE.format(
        title=escape(title),
        kind=escape(kind),
        style=page_style(),
        links="".join(f'<a href="#{anchor}">{escape(section.title)}</a>' for anchor, section in named),
        sections="\n".join(_section(anchor, section) for anchor, section in named),
    )


def page_style() -> str:
    """Return the style sheet of a page, with the colours of axes."""
    style = files("sdy.report.html").joinpath("page.css").read_text("utf-8")
    return f":root {{ {hue_properties()} }}\n{style}"


def _section(anchor: str, section: PageSection) -> str:
    note = f" <small>{escape(section.note)}</small>" if section.note else ""
    return f'<section id="{anchor}"><h2>{escape(section.title)}{note}</h2>{section.content}</section>'


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
