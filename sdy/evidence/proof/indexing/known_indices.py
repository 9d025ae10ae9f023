"""Lemmas of gathers and scatters at indices that are known on each device, as those of a diagonal.

A device takes the indices minus the start of its shard. Of what it gathers, a mask keeps the elements that lie in the
shard; a scatter leaves out the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from sdy.dialects.stablehlo.attributes.attrs import GatherDimensionNumbers
from sdy.dialects.stablehlo.gather_scatter import GatherOp
from sdy.evidence.proof.contributions import contributions, is_zero
from sdy.evidence.proof.factors import Factors, gather, ints
from sdy.evidence.proof.indexing.batching import Indexed
from sdy.evidence.proof.known import DTYPES, windows_of_global
from sdy.evidence.proof.masks import Shard
from sdy.evidence.proof.offsets import Offset, at
from sdy.evidence.proof.relations import Known, NotProvedError, Relation, View, dim_of
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.structured import compute, to_view
from sdy.evidence.proof.terms import Arguments, Term, TermTable
from sdy.evidence.proof.walk import Walk


def gathered_at_known(walk: Walk, op: GatherOp, indexed: Indexed) -> list[Relation] | None:
    """Return a gather from a sharded dim, to be masked, if the program gathers at the same indices from all of the dim.

    None if the indices are not those of a gather of the program.
    """
    numbers, indices = cast("GatherDimensionNumbers", indexed.numbers), indexed.indices
    if walk.table.is_recording or len(numbers.start_index_map) != 1 or not isinstance(indices, Known):
        return None
    operand = cleaned(to_view(walk, indexed.value), walk.table)
    local = from_shard(op, operand, numbers)
    if local is None or indices.dim is None:
        return None
    shard = cast("Shard", local.attributes)
    whole = with_shift(indices, shard.base, walk.devices)
    rows = whole.rows.astype(np.int64)
    if shard.extent == shard.size or not bool(((rows >= 0) & (rows < shard.size)).all()):
        return None
    for view in windows_of_global(whole, walk.table):
        try:
            (found,) = compute(walk, op, local, [operand, view], "local_gather")
        except NotProvedError:
            continue
        if isinstance(found, View) and walk.table.is_global(_of_all(found.term, walk.table)):
            return [found]
    return None


def from_shard(op: GatherOp, operand: View, numbers: GatherDimensionNumbers) -> Factors | None:
    """Return the factors of a gather of single elements from the windows of its only indexed dim; None for slices."""
    factors, (dim,) = gather(op, numbers), numbers.start_index_map
    term_dim, factor = dim_of(operand.dims[dim]), factors.operands[0][dim]
    if term_dim < 0 or ints(op, "slice_sizes")[dim] != 1 or factor in factors.results[0]:
        return None
    extent, size = operand.dims[dim][0].size, operand.term.shape[term_dim]
    attributes = Shard(operand.base[term_dim], extent, size, factors.attributes)
    return replace(factors, parallel=factors.parallel | {factor}, attributes=attributes)


def with_shift(indices: Known, starts: Offset, devices: int) -> Known:
    """Return known indices plus an offset per device. Raises: NotProvedError if the sums exceed their type."""
    shift = np.array([[at(starts, device)] for device in range(devices)])
    rows = indices.rows.astype(np.int64)[np.arange(devices) % len(indices.rows)] + shift
    shifted = rows.astype(DTYPES[indices.element])
    if bool((shifted != rows).any()):
        raise NotProvedError("indices that exceed their type with the start of a shard")
    return Known(indices.element, indices.shape, indices.dim, shifted)


def _of_all(term: Term, table: TermTable) -> Term:
    """Return the gather from the full dim of which a term is the gather on shards."""
    attributes = cast("Arguments", term.attributes)
    shard = cast("Shard", attributes.own)
    return table.make(shard.op, attributes._replace(own=shard.own), term.operands, term.shape, term.element)


def kept_by_known_mask(
    mask: Known, found: View | Known, other: View | Known, devices: int, table: TermTable
) -> View | None:
    """Return the contributions of devices, each of which keeps the elements of a gather that lie in its shard."""
    if isinstance(found, Known) or isinstance(other, Known):
        return None
    if found.term.op != "local_gather" or found.partial is not None or other.base or not is_zero(other.term):
        return None
    attributes, indices = cast("Arguments", found.term.attributes), found.term.operands[1]
    if indices.op != "constant" or len(attributes.factors[1]) != 1:
        return None
    shard, ((_, dim, _),) = cast("Shard", attributes.own), attributes.factors[1]
    known = np.frombuffer(cast("bytes", indices.attributes), DTYPES[indices.element]).astype(np.int64)
    windows, count = found.base[dim_of(found.dims[dim])], mask.shape[dim]
    if mask.dim not in (None, dim):
        return None
    for device in range(devices):
        start, first = at(shard.base, device), at(windows, device)
        positions = known[first : first + count]
        is_own = (positions >= start) & (positions < start + shard.extent)
        if first < 0 or len(positions) < count or bool((mask.rows[device % len(mask.rows)] != is_own).any()):
            return None
    partial = contributions("add", shard.base, shard.extent, shard.size, devices, may_reach_over=False)
    return View(_of_all(found.term, table), found.base, found.dims, None, partial)
