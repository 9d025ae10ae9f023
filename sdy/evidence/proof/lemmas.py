"""The closed list of lemmas: for each op, how the relations of its results follow from those of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.chlo import elementwise as chlo_elementwise
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo import elementwise as stablehlo_elementwise
from sdy.evidence.proof import control, structured
from sdy.evidence.proof.collectives import COLLECTIVES
from sdy.evidence.proof.factors import (
    along,
    attributes_of,
    batched,
    elementwise,
    ints,
    number,
    slice_factors,
)
from sdy.evidence.proof.known import DTYPES, as_view, constant, folded, ints_of, iota, whole
from sdy.evidence.proof.lookups import gather_elements, scatter_elements, selected
from sdy.evidence.proof.offsets import clamped
from sdy.evidence.proof.relations import Known, NotProvedError, Relation
from sdy.evidence.proof.reshapes import cleaned, reshaped, reshaped_as_in_program
from sdy.evidence.proof.structured import compute, known_operands
from sdy.evidence.proof.views import broadcast, slice_along, transposed
from sdy.evidence.proof.walk import UNCHANGED, Lemma, Walk, element_of, shape_of


def pointwise(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: an op on corresponding elements keeps windows."""
    known, rank = known_operands(operands), len(shape_of(op.results[0]))
    if any(len(each.shape) not in (0, rank) for each in known):
        raise NotProvedError("a conversion that changes the rank")
    if all(isinstance(each, Known) for each in known):
        found = folded(op, cast("list[Known]", known), shape_of(op.results[0]), element_of(op.results[0]))
        if found is not None:
            return [found]
    return compute(walk, op, elementwise(op), known)


def bitcast(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a reinterpretation of bits keeps windows; a dim along which an element is taken apart is unsharded."""
    ranks = [len(shape_of(each)) for each in (op.operands[0], op.results[0])]
    if ranks[0] == ranks[1]:
        return pointwise(walk, op, operands)
    return compute(walk, op, batched(op, range(min(ranks)), attributes_of(op)), known_operands(operands))


def convert(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a conversion to the same type changes nothing."""
    is_same = element_of(op.operands[0]) == element_of(op.results[0])
    return operands if is_same else pointwise(walk, op, operands)


def constant_value(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: all devices have the same constant."""
    value = op.properties["value"]
    assert isinstance(value, DenseElementsAttr)
    return [constant(value, shape_of(op.results[0]), element_of(op.results[0]), walk.table)]


def iota_value(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: the elements of an iota are known."""
    shape, dim, element = shape_of(op.results[0]), number(op, "iota_dimension"), element_of(op.results[0])
    if element in DTYPES and element != "i1":
        return [iota(shape, dim, element)]
    kept = (shape[dim],) if shape[dim] > 1 else ()
    term = walk.table.make("iota", None, (), kept, element)
    line = whole(term, (shape[dim],))
    return [broadcast(line, shape, (dim,))]


def partition_id(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: the number of the device is known."""
    return [Known("ui32", (), None, np.arange(walk.devices, dtype=np.uint32)[:, None])]


def broadcast_in_dim(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a value repeats along new dims, whatever their shards."""
    (value,), shape, dims = known_operands(operands), shape_of(op.results[0]), ints(op, "broadcast_dimensions")
    if isinstance(value, Known):
        return [Known(value.element, shape, None if value.dim is None else dims[value.dim], value.rows)]
    return [broadcast(value, shape, dims)]


def reshape(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a reshape keeps the order of elements."""
    (value,), shape = known_operands(operands), shape_of(op.results[0])
    if isinstance(value, Known):
        dim = _reshaped_dim(value, shape)
        if dim is not None or value.dim is None:
            return [Known(value.element, shape, dim, value.rows)]
        value = as_view(value, walk.table)
    if walk.table.is_recording:
        return [cleaned(reshaped(value, shape, walk.table), walk.table)]
    return [reshaped_as_in_program(value, shape, walk.table)]


def _reshaped_dim(value: Known, shape: Sequence[int]) -> int | None:
    """Return the dim along which a known value varies after a reshape that adds or removes dims of size 1."""
    if value.dim is None:
        return None
    long = [dim for dim, size in enumerate(value.shape) if size > 1]
    after = [dim for dim, size in enumerate(shape) if size > 1]
    is_same = [value.shape[dim] for dim in long] == [shape[dim] for dim in after]
    return after[long.index(value.dim)] if is_same else None


def transpose(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a transpose permutes the dims of a window."""
    (value,), permutation = known_operands(operands), ints(op, "permutation")
    if isinstance(value, Known):
        dim = None if value.dim is None else permutation.index(value.dim)
        return [Known(value.element, shape_of(op.results[0]), dim, value.rows)]
    return [transposed(value, permutation)]


def slice_of(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a slice of a window is a window."""
    shape = shape_of(op.results[0])
    (value,) = known_operands(operands)
    for dim, (start, stride) in enumerate(zip(ints(op, "start_indices"), ints(op, "strides"), strict=True)):
        if shape[dim] != value.shape[dim] or start:
            value = slice_along(value, dim, start, shape[dim], stride)
    return [value]


def update_slice(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: an update that covers a dim may be sharded along it."""
    value, update, *starts = known_operands(operands)
    found, sliced = slice_factors(value.shape, update.shape)
    (whole_dims, *start_dims), update_dims = found.operands, found.results
    operands_dims = (whole_dims, *update_dims, *start_dims)
    factors = replace(found, operands=operands_dims, results=(whole_dims,), linear=frozenset({(0, 1)}))
    return compute(walk, op, factors, [value, update, *(starts[dim] for dim in sliced)])


def concatenate(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: values that are unsharded along a dim are concatenated like the global ones."""
    dim = number(op, "dimension")
    sizes = tuple(shape_of(each)[dim] for each in op.operands)
    return compute(walk, op, along(op, (dim,), (dim, sizes)), known_operands(operands))


def select(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: what zeros replace on some devices, or where a device has no elements, are contributions to a sum."""
    found = selected(walk, *known_operands(operands))
    return pointwise(walk, op, operands) if found is None else [found]


def slice_by_index(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a slice whose start is known on each device is a window; other starts are those of the global slice."""
    value, *starts = known_operands(operands)
    shape = shape_of(op.results[0])
    tables = [ints_of(each, walk.devices) if isinstance(each, Known) else None for each in starts]
    for dim, (size, table) in enumerate(zip(shape, tables, strict=True)):
        last = value.shape[dim] - size
        if last and table is not None:
            value = slice_along(value, dim, clamped(table, last), size)
    if value.shape == shape:
        return [value]
    factors, sliced = slice_factors(value.shape, shape)
    return compute(walk, op, factors, [value, *(starts[dim] for dim in sliced)])


def pad(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: values that are unsharded along a dim are padded like the global ones."""
    value, filling = (as_view(each, walk.table) for each in known_operands(operands))
    low, high, interior = (ints(op, f"{each}padding{rest}") for each, rest in PADDINGS)
    dims = [dim for dim, each in enumerate(zip(low, high, interior, strict=True)) if any(each)]
    if not dims:
        return [value]
    factors = along(op, dims, tuple((dim, low[dim], high[dim], interior[dim]) for dim in dims))
    return compute(walk, op, factors, [value, filling])


PADDINGS = (("edge_", "_low"), ("edge_", "_high"), ("interior_", ""))


def nothing(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: an op without results that only annotates computes nothing."""
    return []


def same(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: the op returns its operands."""
    return operands


LEMMAS: dict[str, Lemma] = {
    **{each.name: pointwise for each in (*stablehlo_elementwise.OPS, *chlo_elementwise.OPS)},
    "stablehlo.bitcast_convert": bitcast,
    "stablehlo.convert": convert,
    "stablehlo.select": select,
    "stablehlo.constant": constant_value,
    "stablehlo.iota": iota_value,
    "stablehlo.partition_id": partition_id,
    "stablehlo.broadcast_in_dim": broadcast_in_dim,
    "stablehlo.reshape": reshape,
    "stablehlo.transpose": transpose,
    "stablehlo.slice": slice_of,
    "stablehlo.dynamic_slice": slice_by_index,
    "stablehlo.dynamic_update_slice": update_slice,
    "stablehlo.concatenate": concatenate,
    "stablehlo.pad": pad,
    "stablehlo.dot": structured.contraction,
    "stablehlo.dot_general": structured.contraction,
    "stablehlo.reduce": structured.reduction,
    "stablehlo.reduce_window": structured.window_reduction,
    "stablehlo.select_and_scatter": structured.window_reduction,
    "stablehlo.gather": gather_elements,
    "stablehlo.scatter": scatter_elements,
    "stablehlo.convolution": structured.convolution,
    "stablehlo.reverse": structured.reverse,
    **dict.fromkeys(structured.BY_ROWS, structured.by_rows),
    "stablehlo.optimization_barrier": same,
    **dict.fromkeys(UNCHANGED, same),
    "sdy.sharding_group": nothing,
    "func.call": control.call,
    "stablehlo.case": control.branches,
    "stablehlo.if": control.branches,
    "stablehlo.while": control.loop,
    **COLLECTIVES,
}
