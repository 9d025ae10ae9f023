"""Docstrings and tables as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

ESCAPED_BAR = "\\|"
_SOURCE = re.compile(r"\s*\bSource: .*", re.DOTALL)  # where a definition was taken from: the last words of a docstring


def text_of(documented: object) -> list[str]:
    """The paragraphs of a docstring, without what it says of sources. Indented ones are code to Markdown as well."""
    text = _SOURCE.sub("", inspect.getdoc(documented) or "")
    return [paragraph for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]


def summary_of(documentation: str) -> str:
    """The first paragraph of a docstring on one line, without what it raises."""
    first = re.split(r"\n\s*\n", documentation.strip())[0]
    return re.sub(r"\s*\bRaises: .*", "", " ".join(first.split()))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return [f"| {' | '.join(cell.replace('|', ESCAPED_BAR) for cell in line)} |" for line in lines]


def page(*blocks: str | Sequence[str]) -> str:
    """Blocks with a blank line between them; a block of lines keeps them together."""
    return "\n\n".join(block if isinstance(block, str) else "\n".join(block) for block in blocks if block) + "\n"
