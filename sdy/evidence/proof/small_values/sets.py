"""Maximums, minimums, and, or, on codes: elements that are combined so have one code per set of codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sdy.evidence.proof.contributions import is_neutral
from sdy.evidence.proof.relations import ARBITRARY, Codes
from sdy.evidence.proof.rings import as_integer, as_integers, is_integer, of_integer
from sdy.evidence.proof.small_values.codes import ElementTable


def of_sets(table: ElementTable, kind: str, element: str, values: Sequence[Codes]) -> Codes:
    """Return the codes of the maximums, or the like, of values."""
    rows = np.sort(np.stack(values, -1), -1)
    rows, inverse = np.unique(rows.reshape(-1, len(values)), axis=0, return_inverse=True)
    are_plain = _are_plain(table, kind, element, rows)
    codes = np.empty(len(rows), np.int64)
    plain = rows[are_plain]
    if len(plain):
        codes[are_plain] = _codes_of(table, kind, element, plain.T)
        members = table.members.setdefault((kind, element), {})
        members.update(zip(codes[are_plain].tolist(), map(frozenset, plain.tolist()), strict=True))
    codes[~are_plain] = _of_other_rows(table, kind, element, rows[~are_plain].tolist())
    return codes[inverse.reshape(values[0].shape)]


def _are_plain(table: ElementTable, kind: str, element: str, rows: Codes) -> npt.NDArray[np.bool_]:
    """Return which rows, sorted, are sets as they are: of different codes, none of them neutral or that of a set."""
    if (kind, element) == ("and", "i1") or rows.shape[1] < 2:
        return np.zeros(len(rows), np.bool_)
    codes, constants = np.unique(rows), [code for name, code in table.constants if name == element]
    known = codes[np.isin(codes, constants) | as_integers(codes)[1]].tolist()
    if not _is_bounded(kind, element):
        known = [each for each in known if _is_neutral(table, kind, element, each)]
    is_special = np.isin(rows, [ARBITRARY, *known, *table.members.get((kind, element), ())])
    return (rows[:, 1:] != rows[:, :-1]).all(-1) & ~is_special.any(-1)


def _is_bounded(kind: str, element: str) -> bool:
    """Return whether a known member of a set is a bound of the others."""
    return is_integer(element) and kind in ("maximum", "minimum")


class _Set(NamedTuple):
    """The codes of a set of at least two, in order; the least or largest integer among them, if there is one."""

    codes: tuple[int, ...]
    bound: int | None


def _of_other_rows(table: ElementTable, kind: str, element: str, rows: Sequence[Sequence[int]]) -> list[int]:
    """Return the codes of rows with equal, neutral or known codes, or with those of sets."""
    found = [_reduced(table, kind, element, row) for row in rows]
    by_size: dict[int, list[_Set]] = {}
    for each in {each for each in found if isinstance(each, _Set)}:
        by_size.setdefault(len(each.codes), []).append(each)
    code_of: dict[_Set, int] = {}
    for sets in by_size.values():
        code_of.update(
            zip(sets, _codes_of(table, kind, element, np.array([each.codes for each in sets]).T).tolist(), strict=True)
        )
    members = table.members.setdefault((kind, element), {})
    for each, code in code_of.items():
        if each.bound is not None and len(each.codes) == 2:
            other = next(one for one in each.codes if one != of_integer(each.bound))
            table.choices.clamp(code, other, (each.bound, None) if kind == "maximum" else (None, each.bound), element)
        members[code] = frozenset(each.codes)
    return [code_of[each] if isinstance(each, _Set) else each for each in found]


def _reduced(table: ElementTable, kind: str, element: str, row: Sequence[int]) -> _Set | int:
    """Return the set of the codes of a row, or its only code."""
    if ARBITRARY in row:
        return ARBITRARY
    sets = table.members.get((kind, element), {})
    members = frozenset[int]().union(*(sets.get(each, (each,)) for each in row))
    if (kind, element) == ("and", "i1"):
        return table.choices.both(sorted(members))
    kept = [each for each in members if not _is_neutral(table, kind, element, each)]
    is_bounded = _is_bounded(kind, element)
    known = {each: number for each in kept if is_bounded and (number := as_integer(each)) is not None}
    bound: int | None = None
    if known:
        bound = (max if kind == "maximum" else min)(known.values())
        kept = [*(each for each in kept if each not in known), of_integer(bound)]
    if len(kept) < 2:
        return kept[0] if kept else row[0]
    return _Set(tuple(sorted(kept)), bound)


def _codes_of(table: ElementTable, kind: str, element: str, members: Iterable[Codes]) -> Codes:
    """Return the codes of sets, whose members are given in order: the first ones of all sets, the second ones, ..."""
    return table.variables(("set", kind, element), list(map(np.ascontiguousarray, members)))


def _is_neutral(table: ElementTable, kind: str, element: str, code: int) -> bool:
    raw = table.raw(element, code)
    return raw is not None and is_neutral(table.table.make("constant", raw, (), (), element), kind)
