"""Numbers of bytes as people write them, `300e6`, `14GB`, `16 GiB`, and times as people read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf

_BYTES = re.compile(r"(?P<number>[-+\d._eE]+)\s*(?P<unit>[KMGT]?i?B)?", re.IGNORECASE)
_SECONDS = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
_BYTE_SIZES = ((1.0, "bytes"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"), (1e15, "PB"))
_ROUNDS_UP = 999.5  # numbers from this one on have four digits if they are rounded to three
_UNITS = {
    f"{prefix}{infix}B": float(base**power)
    for infix, base in (("", 1000), ("I", 1024))
    for power, prefix in enumerate(("", "K", "M", "G", "T"))
}


def parse_bytes(text: str) -> float:
    """Return a number of bytes. Raises: ValueError if the text is not a number of bytes.

    >>> parse_bytes("16GiB")
    17179869184.0
    """
    found = _BYTES.fullmatch(text.strip())
    try:
        count = -1.0 if found is None else float(found["number"]) * _UNITS[(found["unit"] or "B").upper()]
    except ValueError:
        count = -1.0
    if not 0 <= count < inf:
        raise ValueError(f"expected a number of bytes such as 300e6 or 16GB, got {text}")
    return count


def byte_count(value: float | str) -> float:
    """Return a number of bytes that is given as a number or as text. Raises: ValueError as `parse_bytes`."""
    return parse_bytes(value) if isinstance(value, str) else value


def rounded_bytes(count: float) -> str:
    """Return a number of bytes with three significant digits, in the largest unit in which it is at least 1.

    >>> rounded_bytes(3_141_592_654)
    '3.14 GB'
    """
    return _in_units(count, _BYTE_SIZES)


def seconds_text(seconds: float) -> str:
    """Return a time with three significant digits, in the largest unit in which it is at least 1.

    >>> seconds_text(3.728e-4)
    '373 µs'
    """
    return _in_units(seconds, _SECONDS)


def _in_units(number: float, units: Sequence[tuple[float, str]]) -> str:
    """Return a number with at least three significant digits, and without an exponent if it is large."""
    size, unit = next((each for each in units if number < _ROUNDS_UP * each[0]), units[-1])
    return f"{number / size:.3g} {unit}" if number < _ROUNDS_UP * size else f"{number / size:,.0f} {unit}"
