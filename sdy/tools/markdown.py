"""Formats docstrings and tables as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

ESCAPED_BAR = "\\|"
_SOURCE = re.compile(r"\s*\bSource: .*", re.DOTALL)  # the last sentence of a docstring may cite a source


def text_of(documented: object) -> list[str]:
    """Return the paragraphs of a docstring without its sources. Indented paragraphs are code in Markdown too."""
    text = _SOURCE.sub("", inspect.getdoc(documented) or "")
    return [paragraph for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]


def summary_of(documentation: str) -> str:
    """Return the first paragraph of a docstring on one line, without the errors it raises."""
    first = re.split(r"\n\s*\n", documentation.strip())[0]
    return re.sub(r"\s*\bRaises: .*", "", " ".join(first.split()))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return [f"| {' | '.join(cell.replace('|', ESCAPED_BAR) for cell in line)} |" for line in lines]


def page(*blocks: str | Sequence[str]) -> str:
    """Join blocks with blank lines between them; a block may be a list of lines."""
    return "\n\n".join(block if isinstance(block, str) else "\n".join(block) for block in blocks if block) + "\n"
