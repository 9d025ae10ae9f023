"""The integers that codes of elements stand for: known ones, and functions of a value of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from sdy.proof.known import DTYPES
from sdy.proof.masks import LARGE_INTEGERS
from sdy.proof.relations import Codes, Elements, NotProvedError
from sdy.proof.small_values.codes import ElementTable


def integer(table: ElementTable, code: int) -> int | None:
    """Return the integer that a code stands for; None if it is not known."""
    element, raw = table.of_constant(code) or ("", b"")
    return int(np.frombuffer(raw, DTYPES[element])[0]) if element in LIMITS else None


def are_integers(table: ElementTable, value: Elements) -> bool:
    """Return whether all elements are integers that are known."""
    return all(integer(table, code) is not None for code in value.codes.reshape(-1).tolist())


def integers(table: ElementTable, value: Elements) -> Codes:
    """Return the integers that elements are. Raises: NotProvedError if they are not known."""
    found = [integer(table, code) for code in value.codes.reshape(-1).tolist()]
    if None in found:
        raise NotProvedError("expected integers that are known")
    return np.array(found, np.int64).reshape(value.codes.shape)


def at_value(table: ElementTable, code: int, symbol: int, value: int, last: int) -> int | None:
    """Return the integer that `code` stands for if `symbol`, clamped to `[0, last]`, is `value`.

    None if that is not known: the symbol may occur in this clamp only.
    """
    if (known := integer(table, code)) is not None:
        return known
    name, element, codes = table.of_op(code)
    if name == "stablehlo.clamp" and codes[1] == symbol:
        return value if (integer(table, codes[0]), integer(table, codes[2])) == (0, last) else None
    if name not in FUNCTIONS or element not in LIMITS:
        return None
    found = [at_value(table, each, symbol, value, last) for each in codes]
    if None in found:
        return None
    result = FUNCTIONS[name](*cast("list[int]", found))
    low, high = LIMITS[element]
    return result if low <= result <= high else None


def shift_from(table: ElementTable, code: int, symbol: int) -> int | None:
    """Return the number that is added to `symbol` in `code`; None if it is something else, or narrow integers wrap."""
    if code == symbol:
        return 0
    name, element, codes = table.of_op(code)
    if element not in LARGE_INTEGERS or name not in ("stablehlo.add", "stablehlo.subtract", "stablehlo.convert"):
        return None
    inner = shift_from(table, codes[0], symbol)
    if name == "stablehlo.convert" or inner is None:
        return inner if element == "i64" else None
    added = integer(table, codes[1])
    return None if added is None else inner + (added if name == "stablehlo.add" else -added)


def _clamp(low: int, value: int, high: int) -> int:
    return min(max(value, low), high)


LIMITS = {
    name: (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    for name, dtype in cast("dict[str, type[np.integer[Any]]]", DTYPES).items()
    if name.strip("u").startswith("i") and name != "i1"
}
FUNCTIONS: dict[str, Callable[..., int]] = {
    "stablehlo.add": int.__add__,
    "stablehlo.subtract": int.__sub__,
    "stablehlo.convert": int,
    "stablehlo.maximum": max,
    "stablehlo.minimum": min,
    "stablehlo.clamp": _clamp,
}
