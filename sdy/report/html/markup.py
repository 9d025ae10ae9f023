"""Cards, tables and mesh axes in colour as HTML markup, for pages and for what notebooks show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

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
