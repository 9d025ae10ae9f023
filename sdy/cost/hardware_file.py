"""Machines of the user's own as TOML files.

hbm_bytes = "96GB"
hbm_bandwidth = "2.8TB/s"

[torus]                      # or [switch]
axes = 3
link_bandwidth = "90GB/s"    # of one link in one direction
wrap_multiple = 4            # an axis whose size is a multiple of this is a ring

[rates]                      # operations a second of the matrix unit
bits16 = 459e12
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path
from typing import cast

from sdy.cost.hardware import HARDWARE, Hardware, MatrixRates, Network, Switch, Torus
from sdy.cost.quantities import parse_bytes
from sdy.diagnostics.argument_types import require_type
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.similar_names import similar_name_hint
from sdy.diagnostics.span import Span

SUFFIX = ".toml"
HOP_SECONDS = 1e-6  # as for the machines of the table

Reader = Callable[[object], object]
Readers = Mapping[str, Reader]


def resolve_hardware(machine: str | Path | Hardware) -> Hardware:
    """Return the hardware: one of the table by its name, one from a TOML file by its path, or the argument itself.

    Raises: SdyError SDY-T209 if no machine has this name, SDY-T230 if the file cannot be read or is malformed.
    """
    require_type(machine, (str, Path, Hardware), "machine", f"{_known()}, or a path to a file{SUFFIX}")
    if isinstance(machine, Hardware):
        return machine
    if Path(machine).suffix == SUFFIX:
        return _read_file(str(machine))
    found = HARDWARE.get(str(machine))
    if found is None:
        hint = similar_name_hint(str(machine), HARDWARE) or f"{_known()}, or a path to a file{SUFFIX}"
        raise SdyError(Diagnostic("SDY-T209", f"unknown hardware {machine}", hint=hint))
    return found


def read_hardware(text: str, file_name: str) -> Hardware:
    """Return the machine that a TOML text describes. Its name is that of the file, by which it is found again.

    Raises: SdyError SDY-T230 if the text is not TOML, or if a key or a value is not one of a machine.
    """
    try:
        found = _read_table(tomllib.loads(text), "", _MACHINE)
        networks = [found[key] for key in ("torus", "switch") if key in found]
        if len(networks) != 1:
            raise _WrongEntryError(
                "", f"expected one of the tables [torus] and [switch], got {len(networks) or 'none'}"
            )
        return Hardware(
            file_name,
            cast(Network, networks[0]),
            cast(float, found["hbm_bandwidth"]),
            cast(float, found["hbm_bytes"]),
            cast(MatrixRates, found["rates"]),
        )
    except tomllib.TOMLDecodeError as error:
        raise SdyError(Diagnostic("SDY-T230", f"cannot read {file_name}: {error}")) from None
    except _WrongEntryError as error:
        raise SdyError(_diagnostic(error, text, file_name)) from None


class _WrongEntryError(Exception):
    """An entry of the file is wrong; `path` is its key after the tables around it, separated by dots."""

    def __init__(self, path: str, problem: str, hint: str | None = None) -> None:
        super().__init__(problem)
        self.path, self.problem, self.hint = path, problem, hint


def _known() -> str:
    return f"known hardware: {', '.join(HARDWARE)}"


def _read_file(path: str) -> Hardware:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SdyError(Diagnostic("SDY-T230", f"cannot read {path}: {reason}")) from None
    return read_hardware(text, path)


def _read_table(table: object, path: str, readers: Readers, optional: tuple[str, ...] = ()) -> dict[str, object]:
    """Return the values of a table. Every key is required, except those in `optional` and the two networks."""
    if not isinstance(table, dict):
        raise _WrongEntryError(path, f"{path}: expected a table, got {table!r}")
    found: dict[str, object] = {}
    for key, value in cast("dict[str, object]", table).items():
        inner = f"{path}.{key}" if path else key
        if key not in readers:
            hint = similar_name_hint(key, readers) or f"known keys: {', '.join(readers)}"
            raise _WrongEntryError(inner, f"unknown key {inner!r}", hint)
        try:
            found[key] = readers[key](value)
        except ValueError as error:
            raise _WrongEntryError(inner, f"{inner}: {error}") from None
    optional = optional if path else (*optional, "torus", "switch")
    missing = [key for key in readers if key not in found and key not in optional]
    if missing:
        raise _WrongEntryError(path, f"missing key {f'{path}.{missing[0]}' if path else missing[0]!r}")
    return found


def _diagnostic(error: _WrongEntryError, text: str, file_name: str) -> Diagnostic:
    """Return the error at the line of the entry: the last line of its table that begins with its key."""
    lines, tables, key = text.splitlines(), error.path.split(".")[:-1], error.path.rpartition(".")[2]
    start = next((index for index, line in enumerate(lines) if tables and line.strip() == f"[{tables[-1]}]"), 0)
    begins = (index for index in range(start, len(lines)) if key and lines[index].lstrip(" [\"'").startswith(key))
    index = next(begins, start)
    if not lines:
        return Diagnostic("SDY-T230", f"{file_name}: {error.problem}", hint=error.hint)
    column = len(lines[index]) - len(lines[index].lstrip()) + 1
    span = Span(file_name, index + 1, column, max(1, len(key)), lines[index])
    return Diagnostic("SDY-T230", error.problem, span, hint=error.hint)


def _amount(value: object) -> float:
    """Read a positive number of bytes, which may have a unit."""
    number = parse_bytes(value) if isinstance(value, str) else value
    return _positive(number)


def _bandwidth(value: object) -> float:
    """Read a number of bytes a second, such as `90GB/s`."""
    return _amount(value.removesuffix("/s") if isinstance(value, str) else value)


def _positive(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < inf:
        raise ValueError(f"expected a positive number, got {value!r}")
    return float(value)


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"expected a positive integer, got {value!r}")
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, got {value!r}")
    return value


_TORUS: Readers = {
    "axes": _count,
    "link_bandwidth": _bandwidth,
    "wrap_multiple": _count,
    "hop_seconds": _positive,
    "bidirectional": _boolean,
}
_SWITCH: Readers = {
    "node_size": _count,
    "node_bandwidth": _bandwidth,
    "network_bandwidth": _bandwidth,
    "hop_seconds": _positive,
}
_RATES: Readers = dict.fromkeys(("bits16", "bits32", "float8", "int8"), _positive)


def _torus(value: object) -> Torus:
    found = _read_table(value, "torus", _TORUS, ("hop_seconds", "bidirectional"))
    return Torus(
        cast(int, found["axes"]),
        cast(float, found["link_bandwidth"]),
        cast(float, found.get("hop_seconds", HOP_SECONDS)),
        cast(int, found["wrap_multiple"]),
        cast(bool, found.get("bidirectional", True)),
    )


def _switch(value: object) -> Switch:
    found = _read_table(value, "switch", _SWITCH, ("hop_seconds",))
    return Switch(
        cast(int, found["node_size"]),
        cast(float, found["node_bandwidth"]),
        cast(float, found["network_bandwidth"]),
        cast(float, found.get("hop_seconds", HOP_SECONDS)),
    )


def _rates(value: object) -> MatrixRates:
    """Read the rates; an element type without one is multiplied at the rate of 16-bit floats."""
    found = cast("dict[str, float]", _read_table(value, "rates", _RATES, ("bits32", "float8", "int8")))
    return MatrixRates(**dict.fromkeys(_RATES, found["bits16"]) | found)


_MACHINE: Readers = {
    "hbm_bytes": _amount,
    "hbm_bandwidth": _bandwidth,
    "torus": _torus,
    "switch": _switch,
    "rates": _rates,
}
