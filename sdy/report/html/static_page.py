"""Self-contained HTML pages of cards and tables, in the style of the report and without scripts but for its theme."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

HUES = 8  # colours for axes in page.css; further axes use them again

_AXIS = re.compile(r'"([^"]*)"(:\(\d+\)\d+)?')
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
        style=files("sdy.report.html").joinpath("page.css").read_text("utf-8"),
        links="".join(f'<a href="#{anchor}">{escape(section.title)}</a>' for anchor, section in named),
        sections="\n".join(_section(anchor, section) for anchor, section in named),
    )


def _section(anchor: str, section: PageSection) -> str:
    note = f" <small>{escape(section.note)}</small>" if section.note else ""
    return f'<section id="{anchor}"><h2>{escape(section.title)}{note}</h2>{section.content}</section>'


def cards(rows: Iterable[tuple[str, str, str]]) -> str:
    """Return markup of large numbers, from the text, the description and the tone of each: "good", "bad" or ""."""
    shown = (
        f'<div class="card"><b class="{escape(tone)}">{escape(text)}</b><span>{escape(description)}</span></div>'
        for text, description, tone in rows
    )
    return f'<div id="cards">{"".join(shown)}</div>'


def markup_table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return markup of a table whose cells are markup; columns with an index in `right` are right-aligned."""

    def row(cells: Sequence[str], tag: str) -> str:
        classes = (' class="number"' if index in right else "" for index in range(len(cells)))
        shown = (f"<{tag}{one}>{cell}</{tag}>" for one, cell in zip(classes, cells, strict=True))
        return f"<tr>{''.join(shown)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f'<div class="scroll"><table><thead>{row(columns, "th")}</thead><tbody>{body}</tbody></table></div>'


class AxisColours:
    """Marks the axes in texts by colour; an axis has the same colour throughout a page."""

    def __init__(self) -> None:
        self._hues: dict[str, int] = {}

    def marked(self, text: str) -> str:
        """Return the text as markup, with each axis, such as "x" or "x":(1)2, in the colour of its name."""
        parts: list[str] = []
        end = 0
        for found in _AXIS.finditer(text):
            hue = self._hues.setdefault(found[1], len(self._hues)) % HUES
            axis = f'<span class="axis" style="--axis:var(--hue-{hue})">{escape(found[0].replace(chr(34), ""))}</span>'
            parts += [escape(text[end : found.start()]), axis]
            end = found.end()
        parts.append(escape(text[end:]))
        return f'<span class="mono">{"".join(parts)}</span>'
