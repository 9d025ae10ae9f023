"""Reads and writes the files of the tools; `-` stands for standard input or output."""

from __future__ import annotations

import sys
from pathlib import Path

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.span import Span

STANDARD_STREAM = "-"


def read_text(path: str) -> str:
    """Read a text file.

    Raises: SdyError SDY-T001 if it cannot be read, SDY-P008 if it is not valid UTF-8.
    """
    try:
        raw = sys.stdin.buffer.read() if path == STANDARD_STREAM else Path(path).read_bytes()
    except OSError as error:
        raise SdyError(Diagnostic("SDY-T001", f"cannot read {path}: {error.strerror}")) from None
    try:
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        message = f"byte 0x{raw[error.start]:02x} is not valid UTF-8"
        raise SdyError(Diagnostic("SDY-P008", message, Span(path, line, column))) from None


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
