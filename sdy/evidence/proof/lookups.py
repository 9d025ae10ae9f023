"""Lemmas of lookups in shards: a device looks up its own elements, masks those of others, and leaves out their updates.

The indices that it uses are those of the program less the start of its shard, which are known on each device.
"""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.stablehlo.gather_scatter import GatherOp, ScatterOp
from sdy.evidence.proof.contributions import is_float, is_zero, of_some_devices
from sdy.evidence.proof.factors import Placement, gather, ints, scatter
from sdy.evidence.proof.known import DTYPES, as_view
from sdy.evidence.proof.offsets import Offset, offset, plus, spread
from sdy.evidence.proof.readings import likeliest
from sdy.evidence.proof.relations import FREE, Known, NotProvedError, Partial, Relation, View, dim_of, is_plain
from sdy.evidence.proof.structured import compute, known_operands
from sdy.evidence.proof.terms import Arguments, Term
from sdy.evidence.proof.walk import Walk, shape_of


class Lookup(NamedTuple):
    """The kind of a partial value of which devices have the elements whose index lies in their shard, others arbitrary.

    The shard of the device with the contribution n is from n times `extent` on.
    """

    indices: Term
    extent: int

    def __str__(self) -> str:
        return "lookup, of which a mask selects elements"


def selected(walk: Walk, mask: View | Known, kept: View | Known, other: View | Known) -> View | None:
    """Return what a select gives if zeros make it contributions to a sum; None otherwise.

    The mask is true on some devices, or where a device has the elements of a lookup.
    """
    is_number, zero = isinstance(kept, Known) and not is_float(kept.element), as_view(other, walk.table)
    if is_number or zero.partial is not None or not is_zero(zero.term):
        return None
    if isinstance(mask, Known):
        value, is_of_device = as_view(kept, walk.table), mask.dim is None and not mask.is_uniform
        return of_some_devices(value, mask.rows[:, 0].tolist()) if is_of_device else None
    if isinstance(kept, Known) or kept.partial is None or not _selects(mask, kept, kept.partial):
        return None
    return replace(kept, partial=replace(kept.partial, kind="add"))


def _selects(mask: View, found: View, partial: Partial) -> bool:
    """Return whether a mask is true for the elements of a lookup that a device has."""
    attributes = found.term.attributes
    if found.term.op != "stablehlo.gather" or not isinstance(attributes, Arguments):
        return False
    if not isinstance(partial.kind, Lookup) or not is_plain(mask) or not is_plain(found):
        return False
    indices, extent = partial.kind
    first = offset(tuple(extent * (each.bit_length() - 1) for each in partial.masks))
    bounds = [("GE", indices, first), ("LE", indices, plus(first, extent - 1))]
    dims = {-1 - factor: dim for dim, factor in enumerate(attributes.result_factors)}  # of the gather, by factor
    of_indices = {dims[factor]: dim for dim, factor, _ in attributes.factors[1]}
    has_their_dims = list(map(dim_of, mask.dims)) == [of_indices.get(dim_of(each), FREE) for each in found.dims]
    has_their_windows = all(mask.base[index_dim] == found.base[dim] for dim, index_dim in of_indices.items())
    is_mask = mask.partial is None and sorted(_conditions(mask.term), key=itemgetter(0)) == bounds
    return is_mask and has_their_dims and has_their_windows


def _conditions(term: Term) -> list[tuple[str, Term, Offset | None]]:
    """Return all that a mask requires: comparisons with numbers that are known on each device, by direction."""
    if term.op == "stablehlo.and" and _are_aligned(term, 0, 1):
        return [*_conditions(term.operands[0]), *_conditions(term.operands[1])]
    direction = next((each for each in ("GE", "LE") if each in str(term.attributes)), "")
    is_known = term.op == "stablehlo.compare" and _are_aligned(term, 0)
    return [(direction, term.operands[0], _numbers(term.operands[1]))] if is_known else [("", term, None)]


def _are_aligned(term: Term, *operands: int) -> bool:
    """Return whether operands of an elementwise term have the shape of the result, with dims in the same order."""
    assert isinstance(term.attributes, Arguments)
    order = list(range(len(term.shape)))
    return all([factor for _, factor, _ in term.attributes.factors[each]] == order for each in operands)


def _numbers(term: Term) -> Offset | None:
    """Return the integer that a scalar term is on each device; None if that is not known."""
    if term.op not in ("device", "constant") or term.shape or term.element not in DTYPES or is_float(term.element):
        return None
    assert isinstance(term.attributes, bytes)
    return offset(tuple(np.frombuffer(term.attributes, DTYPES[term.element]).tolist()))


def _unshifted(indices: View, extent: int) -> tuple[View, Offset]:
    """Return indices less which each device has its own, into its shard of `extent` elements, and by how much less."""
    term = indices.term
    start = _numbers(term.operands[1]) if term.op == "stablehlo.subtract" and _are_aligned(term, 0) else None
    if start is None or isinstance(start, int) or term.operands[0].is_varying:
        return indices, 0
    stay_outside = max(start) + extent <= 2 ** (int(term.element.lstrip("ui")) - 1)  # none wraps around
    return (replace(indices, term=term.operands[0]), start) if stay_outside else (indices, 0)


def _unclamped(indices: View, last: int) -> View:
    """Return indices without what a gather does by itself: clamp them into its operand."""
    term = indices.term
    is_clamp = term.op == "stablehlo.clamp" and _are_aligned(term, 1)
    is_same = is_clamp and (_numbers(term.operands[0]), _numbers(term.operands[2])) == (0, last)
    return replace(indices, term=term.operands[1]) if is_same else indices


def gather_elements(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: slices that are whole along a dim, and batches of indices, are gathered on their shards.

    From a shard of the only dim that is indexed, devices gather elements of which a mask selects those of their shard.
    """
    assert isinstance(op, GatherOp)
    value, indices = known_operands(operands)
    factors, dims = gather(op), op.dimension_numbers.data.start_index_map
    if len(dims) != 1 or ints(op, "slice_sizes")[dims[0]] != 1 or isinstance(value, Known):
        return compute(walk, op, factors, [value, indices])
    value, indices = likeliest(value, walk.table), as_view(indices, walk.table)
    factor, extent, term_dim = factors.operands[0][dims[0]], value.shape[dims[0]], dim_of(value.dims[dims[0]])
    clamped, start = _unshifted(indices, extent)
    found = _unclamped(clamped, (extent if term_dim == FREE else value.term.shape[term_dim]) - 1)
    if start == 0:
        return compute(walk, op, factors, [value, found])
    if term_dim == FREE or value.base[term_dim] != start or found is clamped or factor in factors.results[0]:
        raise NotProvedError("expected indices less the start of the shard, which are clamped before")
    factors = replace(factors, reduced=frozenset({factor}), kind=Lookup(clamped.term, extent))
    return compute(walk, op, factors, [value, found])


def scatter_elements(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: updates that are whole along a dim are scattered on its shards; those outside of a shard are left out."""
    assert isinstance(op, ScatterOp)
    body, kind = walk.fingerprint(op.regions[0])
    factors, known = scatter(op, kind, body), known_operands(operands)
    numbers = op.scatter_dimension_numbers.data
    dims = numbers.scatter_dims_to_operand_dims
    if len(op.inputs) != 1 or len(dims) != 1 or dims[0] not in numbers.inserted_window_dims:
        return compute(walk, op, factors, known)
    value, extent = likeliest(as_view(known[0], walk.table), walk.table), shape_of(op.inputs[0])[dims[0]]
    indices, start = _unshifted(as_view(known[1], walk.table), extent)
    term_dim = dim_of(value.dims[dims[0]])
    if start != 0 and (term_dim == FREE or value.base[term_dim] == start):
        placement = Placement(max(spread(start)) + extent, start, extent)
        shards = {dims[0]: placement} if term_dim == FREE else {}
        factors = replace(factors, parallel=factors.parallel | {*dims}, shards=shards)
        known = [value, indices, known[2]]
    return compute(walk, op, factors, known)
