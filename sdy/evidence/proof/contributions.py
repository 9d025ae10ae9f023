"""Lemmas on partial values: shards of a reduced dim give contributions, and devices combine theirs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from ml_dtypes import bfloat16

from sdy.evidence.proof.known import DTYPES
from sdy.evidence.proof.offsets import Groups, Offset, at, is_inside, spread
from sdy.evidence.proof.relations import NotProvedError, Partial, View
from sdy.evidence.proof.terms import Term

IDEMPOTENT = frozenset({"maximum", "minimum", "and", "or"})  # an element that is combined again changes nothing
_DTYPES = {**DTYPES, "f16": np.dtype(np.float16), "bf16": np.dtype(bfloat16)}


def is_float(element: str) -> bool:
    """Return whether an element type is one of the usual floats."""
    return element in ("f16", "bf16", "f32", "f64")


def is_zero(term: Term | None) -> bool:
    """Return whether a scalar term is zero, of any sign for floats."""
    if term is None or term.op != "constant" or term.shape:
        return False
    raw = term.attributes
    assert isinstance(raw, bytes)
    return not any(raw) or (is_float(term.element) and not np.frombuffer(raw, _DTYPES[term.element])[0])


def is_neutral(term: Term | None, kind: Hashable) -> bool:
    """Return whether combining with a scalar term changes nothing."""
    if kind == "add":
        return is_zero(term)
    if term is None or term.op != "constant" or term.shape or term.element not in _DTYPES:
        return False
    assert isinstance(term.attributes, bytes)
    number = np.frombuffer(term.attributes, _DTYPES[term.element])[0]
    match kind:
        case "multiply":
            return bool(number == 1) and term.element != "i1"
        case "maximum" | "minimum" if is_float(term.element):
            return bool(number == (np.inf if kind == "minimum" else -np.inf))
        case "maximum" | "minimum" if term.element != "i1":
            info = np.iinfo(number.dtype)
            return bool(number == (info.max if kind == "minimum" else info.min))
        case _:  # bits
            return not number if kind in ("or", "maximum") else not ~number


@lru_cache(maxsize=4096)
def contributions(kind: Hashable, base: Offset, extent: int, size: int, devices: int) -> Partial:
    """Return how devices with windows of a reduced dim contribute to the whole.

    Raises: NotProvedError if the windows do not tile the dim.
    """
    if not is_inside(base, extent, size):
        raise NotProvedError("a reduced dim has padding that is not neutral")
    starts = [each for each in sorted(spread(base)) if each + extent > 0 and each < size]
    is_tiling = bool(starts) and starts[0] <= 0 and starts[-1] + extent >= size
    if not is_tiling or any(other - one != extent for one, other in pairwise(starts)):
        raise NotProvedError(f"windows of {extent} elements from {starts[:4]} do not tile a reduced dim of {size}")
    bits = {start: 1 << number for number, start in enumerate(starts)}
    return Partial(kind, tuple(bits.get(at(base, device), 0) for device in range(devices)), (1 << len(starts)) - 1)


@lru_cache(maxsize=4096)
def product(one: Partial | None, other: Partial | None) -> Partial | None:
    """Return the contributions to a reduction of contributions.

    Raises: NotProvedError if they are combined in different ways.
    """
    if one is None or other is None:
        return one or other
    if one.kind != other.kind:
        raise NotProvedError(f"a partial {one.kind} is reduced by {other.kind}")
    width = other.whole.bit_length()

    def mask(a: int, b: int) -> int:
        return sum(b << (width * bit) for bit in range(a.bit_length()) if a >> bit & 1)

    masks = tuple(mask(a, b) for a, b in zip(one.masks, other.masks, strict=True))
    return Partial(one.kind, masks, mask(one.whole, other.whole))


def together(one: Partial, other: Partial) -> Partial:
    """Return the contributions to a function that is linear in both of two sums together."""
    if one == other:
        return one
    width = one.whole.bit_length()
    masks = tuple(a | b << width for a, b in zip(one.masks, other.masks, strict=True))
    return Partial(one.kind, masks, one.whole | other.whole << width)


def of_some_devices(view: View, is_kept: Sequence[bool]) -> View:
    """Return a value that some devices keep, where others have zero. Raises: NotProvedError unless it is a sum."""
    if view.partial is None and is_zero(view.term):
        return view
    whole = view.partial or Partial("add", (1,) * len(is_kept), 1)
    if whole.kind != "add":
        raise NotProvedError("expected a sum of which some devices keep their part")
    masks = tuple(mask if kept else 0 for mask, kept in zip(whole.masks, is_kept, strict=True))
    return replace(view, partial=replace(whole, masks=masks))


def combined(view: View, kind: str, groups: Groups) -> View:
    """Return the view of a partial value after each group of devices has combined its contributions.

    Raises: NotProvedError if some group has a contribution twice, or not all groups have the same windows.
    """
    partial = view.partial
    assert partial is not None
    if partial.kind != kind:
        raise NotProvedError(f"expected an all-reduce that combines by {partial.kind}, got {kind}")
    for base in view.base:
        _check_equal_in_groups(base, groups)
    return replace(view, partial=_combined(partial, groups))


@lru_cache(maxsize=4096)
def _check_equal_in_groups(base: Offset, groups: Groups) -> None:
    if not isinstance(base, int) and any(base[device] != base[group[0]] for group in groups for device in group):
        raise NotProvedError("devices of one group have contributions to different elements")


@lru_cache(maxsize=4096)
def _combined(partial: Partial, groups: Groups) -> Partial | None:
    """Return what is still partial after each group has combined its contributions; None if it is complete."""
    masks = list(partial.masks)
    for group in groups:
        union = 0
        for device in group:
            if union & partial.masks[device] and partial.kind not in IDEMPOTENT:
                raise NotProvedError("devices of one group have the same contribution, which counts twice")
            union |= partial.masks[device]
        for device in group:
            masks[device] = union
    is_complete = all(mask == partial.whole for mask in masks)
    return None if is_complete else Partial(partial.kind, tuple(masks), partial.whole)
