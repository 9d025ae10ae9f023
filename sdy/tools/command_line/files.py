"""Reads, splits and writes the files of the tools; `-` stands for standard input or output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from sdy.compile.source_text import source_text
from sdy.diagnostics.diagnostic import Diagnostic, SdyError

STANDARD_STREAM = "-"
MARKER = "// -----"  # between the programs of a file


def read_text(path: str) -> str:
    """Read the text of a program.

    Raises: SdyError SDY-T001 if it cannot be read, and as `source_text` if it is not a program.
    """
    try:
        raw = sys.stdin.buffer.read() if path == STANDARD_STREAM else Path(path).read_bytes()
    except OSError as error:
        raise SdyError(Diagnostic("SDY-T001", f"cannot read {path}: {error.strerror}")) from None
    return source_text(raw, path)


def write_text(path: str, text: str, *, make_folder: bool = False) -> None:
    """Write a text file; with `make_folder`, create its directory if it does not exist.

    Raises: SdyError SDY-T001 if it cannot be written.
    """
    if path == STANDARD_STREAM:
        sys.stdout.write(text)
        return
    try:
        if make_folder:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SdyError(Diagnostic("SDY-T001", f"cannot write {path}: {error.strerror}")) from None


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
