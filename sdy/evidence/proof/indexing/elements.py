"""Lemmas of gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.stablehlo.attributes.attrs import GatherDimensionNumbers, ScatterDimensionNumbers
from sdy.dialects.stablehlo.gather_scatter import GatherOp, ScatterOp
from sdy.evidence.proof.compute import Placement
from sdy.evidence.proof.factors import gather, ints, scatter, slice_factors
from sdy.evidence.proof.indexing.known_indices import Indexed, from_shard, gathered_at_known, with_batching, with_shift
from sdy.evidence.proof.indexing.starts import dims_from_zero
from sdy.evidence.proof.known import ints_of, known_slice, moved, windows_of_global
from sdy.evidence.proof.masks import Shard, sharded_index, unshifted, without_clamp
from sdy.evidence.proof.offsets import clamped
from sdy.evidence.proof.relations import FREE, Known, NotProvedError, Relation, View, dim_of
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.structured import as_contribution, compute, known_operands, to_view
from sdy.evidence.proof.terms import Term
from sdy.evidence.proof.views import slice_along
from sdy.evidence.proof.walk import Walk, shape_of

ZERO = Known("i64", (), None, np.zeros((1, 1), np.int64))


def gather_elements(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: slices that are whole along a dim, and batches of indices, are gathered on their shards."""
    assert isinstance(op, GatherOp)
    value, starts = known_operands(operands)
    given = Indexed(value, starts, op.dimension_numbers.data)
    found = with_batching(walk, given, op.start_indices, may_window=True)
    picked = gathered_at_known(walk, op, found)
    if picked is not None:
        return picked
    operand, indices = (cleaned(to_view(walk, each), walk.table) for each in (found.value, found.indices))
    numbers = cast("GatherDimensionNumbers", found.numbers)
    factors = gather(op, numbers)
    if len(numbers.start_index_map) == 1:
        (dim,) = numbers.start_index_map
        term_dim = dim_of(operand.dims[dim])
        shard = sharded_index(operand, numbers.start_index_map, indices)
        local = None if shard is None else from_shard(op, operand, numbers)
        if shard is not None and local is not None:
            return compute(walk, op, local, [operand, shard[1]], "local_gather")
        size = operand.term.shape[term_dim] if term_dim >= 0 else operand.shape[dim]
        indices = without_clamp(indices, size - ints(op, "slice_sizes")[dim])
    return compute(walk, op, factors, [operand, indices])


def scatter_elements(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: updates that are whole along a dim are scattered on its shards; those outside of a shard are left out."""
    assert isinstance(op, ScatterOp)
    body, kind = walk.fingerprint(op.regions[0])
    count, known = len(op.inputs), known_operands(operands)
    if kind == "add" and count == 1:
        known[0] = as_contribution(walk, known[0])
    found = with_batching(walk, Indexed(known[0], known[count], op.scatter_dimension_numbers.data), op.scatter_indices)
    numbers = cast("ScatterDimensionNumbers", found.numbers)
    if isinstance(found.indices, Known) and (scattered := _scattered_at_known(walk, op, known, found, kind, body)):
        return scattered
    known[count] = found.indices
    views = [cleaned(to_view(walk, each), walk.table) for each in known]
    factors = scatter(op, numbers, kind, body, dims_from_zero(op, numbers, views[count]))
    dims = numbers.scatter_dims_to_operand_dims
    shards: tuple[tuple[int, Placement], ...] = ()
    shifted = unshifted(views[1]) if count == 1 and len(dims) == 1 and dims[0] in numbers.inserted_window_dims else None
    if shifted is not None and not isinstance(shifted[1], int):
        term_dim, base = dim_of(views[0].dims[dims[0]]), shifted[1]
        extent = shape_of(op.inputs[0])[dims[0]]
        if term_dim == FREE:
            shards = ((dims[0], Placement(max(base) + extent, base, extent)),)
        if term_dim == FREE or views[0].base[term_dim] == base:
            views[1] = shifted[0]
            factors = replace(factors, parallel=factors.parallel | {dims[0]})
    return compute(walk, op, factors, views, shards=shards)


def _scattered_at_known(
    walk: Walk, op: ScatterOp, known: Sequence[View | Known], found: Indexed, kind: str, body: tuple[Term, ...]
) -> list[Relation] | None:
    """Return a scatter to shards at known indices if the program scatters at these; otherwise None."""
    numbers = cast("ScatterDimensionNumbers", found.numbers)
    dims, indices = numbers.scatter_dims_to_operand_dims, found.indices
    if walk.table.is_recording or len(op.inputs) != 1 or len(dims) != 1 or dims[0] not in numbers.inserted_window_dims:
        return None
    value, updates = (cleaned(to_view(walk, each), walk.table) for each in (known[0], known[2]))
    term_dim = dim_of(value.dims[dims[0]])
    if term_dim == FREE or isinstance(indices, View) or indices.dim is None:
        return None
    for view in windows_of_global(with_shift(indices, value.base[term_dim], walk.devices), walk.table):
        factors = scatter(op, numbers, kind, body, dims_from_zero(op, numbers, view))
        try:
            results = compute(walk, op, replace(factors, parallel=factors.parallel | {dims[0]}), [value, view, updates])
        except NotProvedError:
            continue
        if all(isinstance(each, View) and walk.table.is_global(each.term) for each in results):
            return results
    return None


def slice_by_index(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a slice whose start is known on each device is a window; other starts are those of the global slice."""
    value, *starts = known_operands(operands)
    return sliced_at(walk, op, value, starts)


def sliced_at(walk: Walk, op: Operation, value: View | Known, starts: Sequence[View | Known]) -> list[Relation]:
    """Return the relation of a slice of the shape of the result of `op`, with a start for each dim."""
    shape = shape_of(op.results[0])
    tables = [ints_of(each, walk.devices) if isinstance(each, Known) else None for each in starts]
    for dim, (size, table) in enumerate(zip(shape, tables, strict=True)):
        last = value.shape[dim] - size
        if last and table is not None:
            value = slice_along(value, dim, clamped(table, last), size)
    if value.shape == shape:
        return [value]
    factors, sliced = slice_factors(value.shape, shape)
    return compute(walk, op, factors, [value, *(starts[dim] for dim in sliced)], "stablehlo.dynamic_slice")


def gather_one_slice(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation] | None:
    """Lemma: a gather of one slice is a dynamic slice. None if the op gathers several.

    From a sharded dim, a device takes the slice that lies at the start relative to its shard, for a mask to choose.
    """
    assert isinstance(op, GatherOp)
    numbers, shape = op.dimension_numbers.data, shape_of(op.operand)
    has_one = not numbers.index_vector_dim and len(shape_of(op.start_indices)) == 1
    if not has_one or numbers.offset_dims != tuple(range(len(shape))):
        return None
    value, starts = known_operands(operands)
    indexed = numbers.start_index_map
    of_dims: list[View | Known] = [ZERO] * len(shape)  # the start along a dim without one is 0
    if isinstance(starts, Known):
        for number, dim in enumerate(indexed):
            of_dims[dim] = moved(known_slice(starts, 0, number, 1), (), None)
        return sliced_at(walk, op, value, of_dims)
    if len(indexed) != 1 or starts.base:
        return None
    operand = cleaned(value, walk.table) if isinstance(value, View) else value
    found = sharded_index(operand, indexed, starts) if isinstance(operand, View) else None
    if found is None or isinstance(operand, Known):
        of_dims[indexed[0]] = replace(starts, dims=())
        return sliced_at(walk, op, value, of_dims)
    dim, start = found[0], replace(found[1], dims=())
    term_dim = operand.dims[dim][0].dim
    factors, sliced = slice_factors(operand.shape, shape_of(op.results[0]))
    if sliced != [dim]:
        return None
    extent, size = operand.dims[dim][0].size, operand.term.shape[term_dim]
    own = Shard(operand.base[term_dim], extent, size, factors.attributes, "stablehlo.dynamic_slice")
    local = replace(factors, parallel=factors.parallel | {dim}, attributes=own)
    return compute(walk, op, local, [operand, start], "local_gather")
