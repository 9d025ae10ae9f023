"""Lemmas of an update of a slice of a sharded dim, in a loop: each device updates its shard, with margins.

The start of the update counts from the shard, and is clamped so that an update outside of the shard changes only the
margins: as many elements before and after the shard as the update has, which a slice removes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from xdsl.ir import Operation

from sdy.evidence.proof.compute import Computation, Placement, computed
from sdy.evidence.proof.factors import sliced_update
from sdy.evidence.proof.masks import LARGE_INTEGERS, device_table, is_clamped
from sdy.evidence.proof.offsets import Offset, plus
from sdy.evidence.proof.relations import FREE, Known, Margins, NotProvedError, View, dim_of
from sdy.evidence.proof.terms import Term
from sdy.evidence.proof.views import slice_along
from sdy.evidence.proof.walk import Walk, shape_of

UPDATE = "stablehlo.dynamic_update_slice"
LARGEST_START = 2**31 - 1  # which all types of starts have


def with_margins(op: Operation, value: View, low: Sequence[int], high: Sequence[int]) -> Margins | None:
    """Return the relation of a carried value of a loop that is padded to be updated; None for other padded values."""
    user = op.results[0].get_user_of_unique_use()
    dims = [dim for dim, sizes in enumerate(zip(low, high, strict=True)) if any(sizes)]
    is_updated = user is not None and user.name == UPDATE and user.operands[0] is op.results[0]
    if value.term.op != "variable" or not is_updated or len(dims) != 1 or min(low) < 0 or min(high) < 0:
        return None
    return Margins(value, dims[0], low[dims[0]], high[dims[0]])


def updated(walk: Walk, op: Operation, value: Margins, update: View | Known, starts: Sequence[View | Known]) -> Margins:
    """Return the relation of a shard with margins after an update. Raises: NotProvedError if it is not like that."""
    view, dim = value.view, value.dim
    size, start = shape_of(op.operands[1])[dim], starts[dim]
    if size > min(value.low, value.high) or not isinstance(start, View):
        raise NotProvedError("expected an update that is not longer than the margins, from a start that varies")
    found = _start_in_shard(start.term, value.shape[dim] - size)
    if found is None:
        raise NotProvedError("expected a start of an update that counts from the start of the shard")
    whole = found.last + size
    place = Placement(whole, plus(found.origin, value.low), view.shape[dim])
    term_dim = dim_of(view.dims[dim])
    if term_dim != FREE and Placement(view.term.shape[term_dim], view.base[term_dim], view.shape[dim]) != place:
        raise NotProvedError("expected an update of the shard from whose start its start counts")
    factors, sliced = sliced_update(op)
    factors = replace(factors, parallel=factors.parallel | {dim})
    shards = ((dim, place),) if term_dim == FREE else ()
    work = Computation(op.name, factors, (view.shape,), (view.term.element,), walk.devices, shards=shards)
    whole_starts = {**dict(enumerate(starts)), dim: replace(start, term=found.term)}
    (result,) = computed(work, [view, update, *(whole_starts[each] for each in sliced)], walk.table)
    return replace(value, view=result)


def without_margins(value: Margins, starts: Sequence[int], shape: Sequence[int], strides: Sequence[int]) -> View:
    """Return the relation of a slice without the margins. Raises: NotProvedError if it has some of them."""
    start, size = starts[value.dim] - value.low, shape[value.dim]
    is_whole = all(
        each == value.dim or (starts[each] == 0 and size == value.shape[each]) for each, size in enumerate(shape)
    )
    if start < 0 or start + size > value.view.shape[value.dim] or strides[value.dim] != 1 or not is_whole:
        raise NotProvedError("expected a slice without the margins of a shard")
    found = slice_along(value.view, value.dim, start, size)
    assert isinstance(found, View)
    return found


class _Start(NamedTuple):
    """The start of an update of a global dim, between 0 and `last`, and the place from which that of a shard counts."""

    term: Term
    last: int
    origin: Offset


def _start_in_shard(term: Term, last: int) -> _Start | None:
    """Return what a scalar start is, if it is clamped to [0, last] after the start of a shard was subtracted."""
    if term.shape or not is_clamped(term, last):
        return None
    inner, margin = term.operands[1], 0
    if inner.op == "stablehlo.add":
        added = device_table(inner.operands[1])
        if not isinstance(added, int):
            return None
        inner, margin = inner.operands[0], added
    if inner.op != "stablehlo.subtract" or inner.element not in LARGE_INTEGERS:
        return None
    base = device_table(inner.operands[1])
    inner = inner.operands[0]
    if inner.op == "stablehlo.convert":
        inner = inner.operands[0]
    end = device_table(inner.operands[2]) if inner.op == "stablehlo.clamp" else None
    if base is None or not isinstance(end, int) or end > LARGEST_START or not is_clamped(inner, end):
        return None
    if inner.element not in LARGE_INTEGERS:
        return None
    return _Start(inner.operands[1], end, plus(base, margin, -1))
