"""Lemmas of slices at starts that are operands: dynamic slices, and gathers of one slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.stablehlo.gather_scatter import GatherOp
from sdy.evidence.proof.factors import slice_factors
from sdy.evidence.proof.known import ints_of, known_slice, moved
from sdy.evidence.proof.masks import Shard, sharded_index
from sdy.evidence.proof.offsets import clamped
from sdy.evidence.proof.relations import Known, Relation, Segments, View
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.segments.lemmas import sliced_segments
from sdy.evidence.proof.structured import compute, known_operands
from sdy.evidence.proof.views import slice_along
from sdy.evidence.proof.walk import Walk, shape_of

ZERO = Known("i64", (), None, np.zeros((1, 1), np.int64))


def slice_by_index(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a slice whose start is known on each device is a window; other starts are those of the global slice."""
    first, *rest = operands
    if isinstance(first, Segments):
        return [sliced_segments(walk, first, known_operands(rest), shape_of(op.results[0]))]
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
