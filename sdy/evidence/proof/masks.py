"""Lemmas on masks and shifted indices: how devices pick the elements of their own shards."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sdy.evidence.proof.contributions import contributions, is_zero, masked
from sdy.evidence.proof.known import DTYPES
from sdy.evidence.proof.offsets import Offset, at, offset
from sdy.evidence.proof.relations import Known, View, dim_of, is_plain
from sdy.evidence.proof.terms import Arguments, Term, TermTable


class Shard(NamedTuple):
    """The attributes of a gather from the windows of a dim: which they are, and the gather from the full dim."""

    base: Offset
    extent: int
    size: int
    own: Hashable
    op: str = "stablehlo.gather"


LARGE_INTEGERS = frozenset({"i32", "i64", "ui32", "ui64"})


def selected(mask: Known, kept: View | Known, other: View | Known, devices: int) -> View | None:
    """Return what a select by a known mask gives if the mask tells devices, or what is inside of a term, apart.

    Elements outside of the term are replaced by a scalar; or devices without a contribution hold zero.
    """
    if isinstance(kept, Known) or isinstance(other, Known):
        return None
    if mask.dim is not None:
        return _padded(mask, mask.dim, kept, other, devices)
    if mask.is_uniform:
        return None
    rows = [bool(each) for each in mask.rows[:, 0]]
    if not other.base and is_zero(other.term):
        return masked(kept, rows)
    if not kept.base and is_zero(kept.term):
        return masked(other, [not each for each in rows])
    return None


def _padded(mask: Known, position: int, kept: View, other: View, devices: int) -> View | None:
    """Return the value with a scalar outside of its term, if the mask is true inside of it."""
    if other.base or not is_plain(kept) or other.partial is not None:
        return None
    dim = dim_of(kept.dims[position])
    if dim < 0 or (kept.partial is not None and not is_zero(other.term)):
        return None
    positions = np.arange(mask.shape[position])
    for device in range(devices):
        found = positions + at(kept.base[dim], device)
        inside = (found >= 0) & (found < kept.term.shape[dim])
        if bool((mask.rows[device % len(mask.rows)] != inside).any()):
            return None
    if any(each != dim and not _is_inside_along(kept, each) for each in range(len(kept.base))):
        return None
    return replace(kept, outside=other.term)


def _is_inside_along(view: View, dim: int) -> bool:
    extent = next(digits[0].size for digits in view.dims if dim_of(digits) == dim)
    table = view.base[dim]
    starts = (table,) if isinstance(table, int) else table
    return all(each >= 0 and each + extent <= view.term.shape[dim] for each in starts)


def unshifted(indices: View) -> tuple[View, Offset] | None:
    """Return the indices from which an offset per device is subtracted, and the offset; None if there is none."""
    term = indices.term
    if term.op != "stablehlo.subtract" or len(term.operands) != 2 or term.element not in LARGE_INTEGERS:
        return None
    inner, shift = term.operands
    table = device_table(shift)
    if table is None or inner.is_varying or inner.shape != term.shape:
        return None
    if _arrangement(term)[0] != tuple(range(len(inner.shape))):
        return None
    return replace(indices, term=inner), table


def _arrangement(term: Term) -> tuple[tuple[int, ...], ...]:
    """Return, per operand of an elementwise term, the dim of the result of each of its dims."""
    attributes = term.attributes
    assert isinstance(attributes, Arguments)
    return tuple(tuple(factor for _, factor, _ in key) for key in attributes.factors)


def device_table(term: Term) -> Offset | None:
    """Return the values of a scalar term per device; None unless it is an integer that is known."""
    if term.op not in ("device", "constant") or term.shape or term.element not in DTYPES:
        return None
    assert isinstance(term.attributes, bytes)
    return offset(tuple(int(each) for each in np.frombuffer(term.attributes, DTYPES[term.element])))


def sharded_index(operand: View, indexed: Sequence[int], indices: View) -> tuple[int, View] | None:
    """Return the indexed dim of the operand that is sharded, and the indices without the start of the shard.

    None if that is not what the indices are.
    """
    if not is_plain(operand) or (found := unshifted(indices)) is None:
        return None
    inner, shift = found
    for dim in indexed:
        term_dim = dim_of(operand.dims[dim])
        if term_dim >= 0 and operand.base[term_dim] == shift and len(indexed) == 1:
            return dim, inner
    return None


def _is_in_order(term: Term, operand: int) -> bool:
    inner = term.operands[operand]
    return inner.shape == term.shape and _arrangement(term)[operand] == tuple(range(len(inner.shape)))


def gathered_by_mask(mask: View, found: View, other: View, devices: int, table: TermTable) -> View | None:
    """Return the contributions of devices that each gather the elements whose indices lie in their windows."""
    term = found.term
    if term.op != "local_gather" or other.base or not is_zero(other.term):
        return None
    attributes = term.attributes
    assert isinstance(attributes, Arguments)
    assert isinstance(attributes.own, Shard)
    base, extent, size, own, op = attributes.own
    indices, bounds = term.operands[1], _bounds(mask.term)
    if bounds is None or bounds[0] is not indices or not is_clamped(indices, size - 1):
        return None
    if found.partial is not None or not _is_mask_of(mask, found, attributes.factors[1]):
        return None
    low, high = bounds[1], bounds[2]
    starts = [at(base, device) for device in range(devices)]
    if any(at(low, p) != start or at(high, p) != start + extent - 1 for p, start in enumerate(starts)):
        return None
    partial = contributions("add", base, extent, size, devices, may_reach_over=False)
    operands = (term.operands[0], indices.operands[1] if _is_in_order(indices, 1) else indices)
    whole = table.make(op, attributes._replace(own=own), operands, term.shape, term.element)
    return replace(found, term=whole, partial=partial)


def _is_mask_of(mask: View, found: View, key: Sequence[tuple[int, int, int]]) -> bool:
    """Return whether the mask of the indices has their windows in the result of a gather."""
    if not is_plain(mask) or not is_plain(found) or len(mask.base) != len(key):
        return False
    return all(
        dim_of(mask.dims[factor]) == dim and mask.base[dim] == found.base[dim_of(found.dims[factor])]
        for dim, factor, _ in key
    )


def _bounds(term: Term) -> tuple[Term, Offset, Offset] | None:
    """Return index, low and high of a term `low <= index and index <= high`, with bounds per device."""
    if term.op != "stablehlo.and":
        return None
    if not (_is_in_order(term, 0) and _is_in_order(term, 1)):
        return None
    tests: dict[str, tuple[Term, Offset]] = {}
    for each in term.operands:
        if each.op != "stablehlo.compare" or each.shape != term.shape or not _is_in_order(each, 0):
            return None
        table = device_table(each.operands[1])
        direction = str(each.attributes)
        if table is None:
            return None
        tests["GE" if "GE" in direction else "LE" if "LE" in direction else ""] = (each.operands[0], table)
    if set(tests) != {"GE", "LE"} or tests["GE"][0] is not tests["LE"][0]:
        return None
    return tests["GE"][0], tests["GE"][1], tests["LE"][1]


def is_clamped(indices: Term, last: int) -> bool:
    """Return whether a term is clamped to `[0, last]`."""
    if indices.op != "stablehlo.clamp":
        return False
    low, _, high = indices.operands
    return device_table(low) == 0 and device_table(high) == last
