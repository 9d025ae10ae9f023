"""The texts of `--help`, wrapped at the width of the terminal or of the variable COLUMNS."""

from __future__ import annotations

import re
from argparse import Action, HelpFormatter
from collections.abc import Iterable, Iterator
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

_LEAST_WIDTH = 20  # of a column of a table
_COLUMN = re.compile(r"(^| ) +(?=\S)")


def help_width() -> int:
    """Return the number of columns that a line of help may have."""
    return get_terminal_size().columns


class WrappedHelp(HelpFormatter):
    """Formats the help of a command, whose description has paragraphs and tables."""

    def add_usage(
        self, usage: str | None, actions: Iterable[Action], groups: Iterable[Any], prefix: str | None = None
    ) -> None:
        """Show the options of every command last."""
        super().add_usage(usage, sorted(actions, key=lambda each: each.dest in ("load", "color")), groups, prefix)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return wrapped(text, width)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(" ".join(text.split()), width, break_on_hyphens=False)


def wrapped(text: str, width: int) -> str:
    """Return a text with wrapped paragraphs. Lines that begin with spaces are rows of a table, wrapped one by one."""
    return "\n\n".join("\n".join(_paragraph(part.splitlines(), width)) for part in text.strip().split("\n\n"))


def _paragraph(lines: list[str], width: int) -> Iterator[str]:
    text: list[str] = []
    for line in lines:
        if not line.startswith(" "):
            text.append(line)
            continue
        yield from wrap(" ".join(text), width)
        text = []
        yield from _row(line, width)
    yield from wrap(" ".join(text), width)


def _row(line: str, width: int) -> list[str]:
    """Wrap a row of a table, whose columns are separated by two spaces: below its last column that has enough room."""
    starts = [match.end() for match in _COLUMN.finditer(line)]
    start = max((each for each in starts if width - each >= _LEAST_WIDTH), default=0)
    first, *others = wrap(line[start:], width - start, break_on_hyphens=False)
    return [line[:start] + first, *(" " * start + other for other in others)]
