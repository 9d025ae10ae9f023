"""Contracts as TOML files.

machine = "tpu_v5e"
bytes_sent = 995_343
peak_bytes = "1.4MB"
seconds = 3.96e-05
tolerance = 0.02

[[collectives]]
kind = "all-gather"
axes = ["data"]
count = 4

[shardings]
"params['up']" = '[{}, {"model"}]'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import cast

from sdy.advice.contract import CollectiveBound, Contract
from sdy.cost.collectives import CollectiveKind
from sdy.cost.machines.table import DEFAULT_MACHINE
from sdy.cost.quantities import parse_bytes
from sdy.diagnostics.diagnostic import Span
from sdy.diagnostics.toml_tables import (
    Reader,
    WrongEntryError,
    boolean_value,
    count_value,
    read_table,
    read_toml,
    span_of_entry,
    text_value,
)

HEADER = "# Upper bounds for one device and one run of the program. `sdy check --update` writes them anew."


def given_contract(contract: Contract | str | Path | None) -> Contract | None:
    """Return a contract that is given as a value or as the path of its file. Raises: as `read_contract`, or OSError."""
    if isinstance(contract, str | Path):
        return read_contract(Path(contract).read_text(encoding="utf-8"), str(contract))
    return contract


def read_contract(text: str, file_name: str) -> Contract:
    """Return the contract that a TOML text describes.

    Raises: SdyError SDY-C010 if the text is not TOML, or if a key or a value is not one of a contract.
    """
    found = read_toml(text, file_name, "SDY-C010", lambda table: read_table(table, _CONTRACT))
    contract = Contract(**found)  # pyright: ignore[reportArgumentType] -- the readers return the types of the fields
    numbered = enumerate(contract.collectives)
    bounds = tuple(replace(bound, spans=_selector_spans(number, text, file_name)) for number, bound in numbered)
    return replace(contract, collectives=bounds)


def bounds_contract(
    counts: Mapping[str, int],
    bytes_sent: float | str | None,
    peak_bytes: float | str | None,
    seconds: float | None,
    machine: str,
    shardings: Mapping[str, str],
) -> Contract:
    """Return a contract with these bounds; `counts` are by kind of collective.

    Raises: ValueError if a kind is unknown, or if a number of bytes is malformed.
    """
    collectives = tuple(CollectiveBound(collective_kind(kind), count=count) for kind, count in counts.items())
    sent, peak = (None if value is None else _bytes(value) for value in (bytes_sent, peak_bytes))
    return Contract(collectives, sent, peak, seconds, machine, shardings)


def write_contract(contract: Contract) -> str:
    """Return a contract as TOML."""
    return "\n".join(_lines(contract)) + "\n"


def _bytes(value: object) -> float:
    return parse_bytes(value) if isinstance(value, str) else _number(value)


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        raise ValueError(f"expected a number that is not negative, got {value!r}")
    return value


def collective_kind(value: object) -> CollectiveKind:
    """Return the kind with this name. Raises: ValueError if there is none."""
    kinds = {kind.value: kind for kind in CollectiveKind}
    if not isinstance(value, str) or value not in kinds:
        raise ValueError(f"expected one of {', '.join(kinds)}, got {value!r}")
    return kinds[value]


def _axes(value: object) -> frozenset[str]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list of axis names, got {value!r}")
    return frozenset(map(text_value, cast("list[object]", value)))


def _bounds(value: object) -> tuple[CollectiveBound, ...]:
    if not isinstance(value, list):
        raise ValueError("expected tables, written as [[collectives]]")
    return tuple(_bound(number, each) for number, each in enumerate(cast("list[object]", value)))


def _bound(number: int, value: object) -> CollectiveBound:
    if not isinstance(value, dict):
        raise ValueError(f"expected a table, got {value!r}")
    try:
        found = read_table(cast("dict[str, object]", value), _BOUND)
    except WrongEntryError as error:
        raise WrongEntryError(("collectives", str(number), *error.path), error.problem, error.hint) from None
    return CollectiveBound(**found)  # pyright: ignore[reportArgumentType]


def _selector_spans(number: int, text: str, file_name: str) -> dict[str, Span]:
    """Return the locations of the selectors by name in a table of bounds, with its number in the file."""
    found = {key: span_of_entry(("collectives", str(number), key), text, file_name) for key in _SELECTORS}
    return {key: span for key, span in found.items() if span is not None}


def _shardings(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError(f"expected a table of shardings, got {value!r}")
    return {name: text_value(each) for name, each in cast("dict[str, object]", value).items()}


_SELECTORS = ("axes", "function", "source")  # those with names, which the program may not have
_BOUND: dict[str, Reader] = {
    "kind": collective_kind,
    "axes": _axes,
    "in_loop": boolean_value,
    "function": text_value,
    "source": text_value,
    "count": count_value,
    "runs": count_value,
    "bytes": _bytes,
}
_CONTRACT: dict[str, Reader] = {
    "machine": text_value,
    "bytes_sent": _bytes,
    "peak_bytes": _bytes,
    "seconds": _number,
    "tolerance": _number,
    "collectives": _bounds,
    "shardings": _shardings,
}


def _lines(contract: Contract) -> Iterator[str]:
    yield HEADER
    if contract.machine != DEFAULT_MACHINE or contract.seconds is not None:
        yield f"machine = {dumps(contract.machine)}"
    yield from _entries({"bytes_sent": contract.bytes_sent, "peak_bytes": contract.peak_bytes})
    if contract.seconds is not None:
        yield f"seconds = {contract.seconds!r}"
    if contract.tolerance:
        yield f"tolerance = {contract.tolerance!r}"
    for bound in contract.collectives:
        yield ""
        yield "[[collectives]]"
        yield from _entries({key: getattr(bound, key) for key in _BOUND})
    if contract.shardings:
        yield ""
        yield "[shardings]"
        yield from (f"{dumps(name)} = '{text}'" for name, text in contract.shardings.items())


def _entries(values: Mapping[str, object]) -> Iterator[str]:
    """Yield a line of TOML for each value that bounds something."""
    yield from (f"{key} = {_toml(value)}" for key, value in values.items() if value not in (None, frozenset()))


def _toml(value: object) -> str:
    if isinstance(value, CollectiveKind):
        return dumps(value.value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{-int(-value // 1):_}"  # groups of three digits, rounded up so that the bound holds
    return dumps(sorted(cast("frozenset[str]", value)) if isinstance(value, frozenset) else value)
