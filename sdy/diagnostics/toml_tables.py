"""Reads tables of TOML files, where a mistake is a diagnostic with its line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TypeVar, cast

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Span
from sdy.diagnostics.wording import similar_name_hint

Table = Mapping[str, object]
Reader = Callable[[object], object]  # raises ValueError if the value is not as expected

T = TypeVar("T")

PYPROJECT = "pyproject.toml"


class WrongEntryError(Exception):
    """An entry of a table is not as expected; `read_toml` turns it into a diagnostic.

    `path` holds the key of the entry after those of the tables around it; the key of a list of tables is followed by
    the number of the table: `("collectives", "1", "kind")`.
    """

    def __init__(self, path: Sequence[str], problem: str, hint: str | None = None) -> None:
        super().__init__(problem)
        self.path, self.problem, self.hint = tuple(path), problem, hint


def nearest_pyproject(folder: Path) -> Path | None:
    """Return the pyproject.toml in a folder, or in the nearest folder around it that has one."""
    return next((path for each in (folder, *folder.parents) if (path := each / PYPROJECT).is_file()), None)


def file_text(path: str, code: str) -> str:
    """Return the text of a file. Raises: SdyError with the code if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SdyError(Diagnostic(code, f"cannot read {path}: {reason}")) from None


def read_toml(text: str, file_name: str, code: str, read: Callable[[Table], T]) -> T:
    """Return `read(table)` for the table of a TOML text.

    Raises: SdyError with the code if the text is not TOML, or if `read` raises WrongEntryError.
    """
    import tomllib  # imported here, because most commands read no such file

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SdyError(Diagnostic(code, f"cannot read {file_name}: {error}")) from None
    try:
        return read(table)
    except WrongEntryError as error:
        span = span_of_entry(error.path, text, file_name)
        problem = error.problem if span else f"{file_name}: {error.problem}"
        raise SdyError(Diagnostic(code, problem, span, hint=error.hint)) from None


def read_table(
    table: object, readers: Mapping[str, Reader], path: Sequence[str] = (), required: Sequence[str] = ()
) -> dict[str, object]:
    """Return the values of the table that is found under `path`, each read by the reader of its key.

    Raises: WrongEntryError if it is not a table, if a key has no reader, if its reader raises ValueError, or if a
    required key is missing.
    """
    if not isinstance(table, Mapping):
        raise WrongEntryError(path, f"{'.'.join(path)}: expected a table, got {table!r}")
    found: dict[str, object] = {}
    for key, value in cast(Table, table).items():
        inner = (*path, key)
        if key not in readers:
            hint = similar_name_hint(key, readers) or f"known keys: {', '.join(readers)}"
            raise WrongEntryError(inner, f"unknown key {'.'.join(inner)!r}", hint)
        try:
            found[key] = readers[key](value)
        except ValueError as error:
            raise WrongEntryError(inner, f"{'.'.join(inner)}: {error}") from None
    missing = [key for key in required if key not in found]
    if missing:
        raise WrongEntryError((*path, ""), f"missing key {'.'.join((*path, missing[0]))!r}")
    return found


def count_value(value: object) -> int:
    """Return a count. Raises: ValueError if it is not a non-negative integer."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"expected a count that is not negative, got {value!r}")
    return value


def positive_number(value: object) -> float:
    """Return a finite number above 0. Raises: ValueError if the value is none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < inf:
        raise ValueError(f"expected a positive number, got {value!r}")
    return float(value)


def positive_count(value: object) -> int:
    """Return a count above 0. Raises: ValueError if the value is none."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"expected a positive integer, got {value!r}")
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


def span_of_entry(path: Sequence[str], text: str, file_name: str) -> Span | None:
    """Return the location of an entry: the first line of its table that begins with its key, or the table's own.

    `path` is that of a `WrongEntryError`.
    """
    lines = text.splitlines()
    if not lines:
        return None
    *tables, key = path or [""]
    start = _line_of_table(tables, lines)
    begins = (index for index in range(start, len(lines)) if key and lines[index].lstrip(" [\"'").startswith(key))
    line = next(begins, start)
    column = len(lines[line]) - len(lines[line].lstrip()) + 1
    return Span(file_name, line + 1, column, max(1, len(key)), lines[line])


def _line_of_table(tables: Sequence[str], lines: Sequence[str]) -> int:
    """Return the index of the line that begins a table, or 0."""
    number = int(tables[-1]) if tables and tables[-1].isdecimal() else None
    header = f"[{tables[-1]}]" if number is None and tables else f"[[{tables[-2]}]]" if number is not None else ""
    found = [index for index, line in enumerate(lines) if header and line.strip() == header]
    return next(iter(found[number or 0 :]), 0)
