"""Splits a file of several programs at the lines `// -----`."""

from __future__ import annotations

from typing import NamedTuple

MARKER = "// -----"


class Chunk(NamedTuple):
    """One program of a file, and the number of its first line."""

    text: str
    first_line: int = 1


def split_file(text: str) -> list[Chunk]:
    """Return the programs of a file in order; a program may be empty."""
    chunks: list[Chunk] = []
    line = 1
    for part in text.split(MARKER):
        chunks.append(Chunk(part, line))
        line += part.count("\n")
    return chunks
