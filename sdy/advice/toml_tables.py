"""Reads tables of TOML files, where a mistake is a diagnostic with its line."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import TypeVar

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.similar_names import similar_name_hint
from sdy.diagnostics.span import Span

Table = Mapping[str, object]
Reader = Callable[[object], object]  # raises ValueError if the value is not as expected

T = TypeVar("T")


class WrongEntryError(Exception):
    """An entry of a table is not as expected; `read_toml` turns it into a diagnostic."""

    def __init__(self, key: str, problem: str, hint: str | None = None) -> None:
        super().__init__(problem)
        self.key, self.problem, self.hint = key, problem, hint


def read_toml(text: str, file_name: str, code: str, read: Callable[[Table], T]) -> T:
    """Return `read(table)` for the table of a TOML text.

    Raises: SdyError with the code if the text is not TOML, or if `read` raises WrongEntryError.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SdyError(Diagnostic(code, f"cannot read {file_name}: {error}")) from None
    try:
        return read(table)
    except WrongEntryError as error:
        span = _span_of_key(error.key, text, file_name)
        raise SdyError(Diagnostic(code, error.problem, span, hint=error.hint)) from None


def read_table(table: Table, readers: Mapping[str, Reader]) -> dict[str, object]:
    """Return the values of a table, each read by the reader of its key.

    Raises: WrongEntryError if a key has no reader, or if its reader raises ValueError.
    """
    found: dict[str, object] = {}
    for key, value in table.items():
        if key not in readers:
            hint = similar_name_hint(key, readers) or f"known keys: {', '.join(readers)}"
            raise WrongEntryError(key, f"unknown key {key!r}", hint)
        try:
            found[key] = readers[key](value)
        except ValueError as error:
            raise WrongEntryError(key, f"{key}: {error}") from None
    return found


def count_value(value: object) -> int:
    """Return a count. Raises: ValueError if it is not a non-negative integer."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"expected a count that is not negative, got {value!r}")
    return value


def text_value(value: object) -> str:
    """Return a string. Raises: ValueError if the value is of another type."""
    if not isinstance(value, str):
        raise ValueError(f"expected a string, got {value!r}")
    return value


def boolean_value(value: object) -> bool:
    """Return a boolean. Raises: ValueError if the value is of another type."""
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, got {value!r}")
    return value


def _span_of_key(key: str, text: str, file_name: str) -> Span:
    """Return the location of a key: the first line of the text that begins with it."""
    lines = text.splitlines()
    line = next((index for index, each in enumerate(lines) if each.lstrip(" [\"'").startswith(key)), 0)
    column = len(lines[line]) - len(lines[line].lstrip()) + 1
    return Span(file_name, line + 1, column, max(1, len(key)), lines[line])
