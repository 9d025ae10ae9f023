"""Lemmas of slices at starts that are operands: dynamic slices, and gathers of one slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.stablehlo.gather_scatter import GatherOp
from sdy.proof.factors import Factors
from sdy.proof.known import ints_of, known_slice, moved
from sdy.proof.masks import Shard, sharded_index
from sdy.proof.relations import Known, Relation, View
from sdy.proof.reshapes import cleaned
from sdy.proof.structured import compute, known_operands
from sdy.proof.views import slice_along
from sdy.proof.walk import Walk, shape_of

ZERO = Known("i64", (), None, np.zeros((1, 1), np.int64))


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
            clamped = min(max(table, 0), last) if isinstance(table, int) else tuple(min(max(s, 0), last) for s in table)
            value = slice_along(value, dim, clamped, size)
    if value.shape == shape:
        return [value]
    factors, sliced = _factors(value.shape, shape)
    return compute(walk, op, factors, [value, *(starts[dim] for dim in sliced)], "stablehlo.dynamic_slice")


def _factors(whole: Sequence[int], part: Sequence[int]) -> tuple[Factors, list[int]]:
    """Return the factors of a slice of a value, whose operands are the starts along the dims that it does not cover."""
    rank, sliced = len(whole), [dim for dim, (one, other) in enumerate(zip(whole, part, strict=True)) if one != other]
    attributes = tuple((dim, part[dim]) for dim in sliced)
    kept = tuple(rank + dim if dim in sliced else dim for dim in range(rank))
    operands = (tuple(range(rank)), *((),) * len(sliced))
    parallel = frozenset(range(rank)) - frozenset(sliced)
    return Factors(operands, (kept,), parallel, attributes, linear=frozenset({(0,)})), sliced


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
    found = sharded_index(cleaned(value, walk.table), indexed, starts) if isinstance(value, View) else None
    start = replace(starts if found is None else found[1], dims=())
    if found is None:
        of_dims[indexed[0]] = start
        return sliced_at(walk, op, value, of_dims)
    assert isinstance(value, View)
    operand, dim = cleaned(value, walk.table), found[0]
    term_dim = operand.dims[dim][0].dim
    factors, sliced = _factors(operand.shape, shape_of(op.results[0]))
    if sliced != [dim]:
        return None
    own = Shard(operand.base[term_dim], operand.dims[dim][0].size, operand.term.shape[term_dim], factors.attributes)
    own = own._replace(op="stablehlo.dynamic_slice")
    local = replace(factors, parallel=factors.parallel | {dim}, attributes=own)
    return compute(walk, op, local, [operand, start], "local_gather")
