"""Self-contained HTML pages of cards and tables, in the style of the report and without scripts but for its theme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from sdy.report.html.markup import hue_properties

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
