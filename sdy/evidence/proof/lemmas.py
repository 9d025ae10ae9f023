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
from sdy.evidence.proof import control
from sdy.evidence.proof.collectives.lemmas import COLLECTIVES
from sdy.evidence.proof.contributions import is_neutral
from sdy.evidence.proof.factors import (
    along,
    attributes_of,
    batched,
    elementwise,
    ints,
    number,
    sliced_update,
)
from sdy.evidence.proof.indexing import gather_elements, gather_one_slice, scatter_elements, slice_by_index
from sdy.evidence.proof.known import DTYPES, as_view, constant, folded, iota, moved, whole
from sdy.evidence.proof.masks import gathered_by_mask, selected
from sdy.evidence.proof.offsets import is_inside, plus
from sdy.evidence.proof.op_sets import UNCHANGED
from sdy.evidence.proof.relations import (
    FREE,
    Known,
    NotProvedError,
    Relation,
    View,
    dim_of,
)
from sdy.evidence.proof.reshapes import cleaned, noted_reshape, reshaped_as_noted
from sdy.evidence.proof.structured import (
    BY_ROWS,
    by_rows,
    compute,
    concatenated,
    contraction,
    convolution,
    known_operands,
    reduction,
    reverse,
    to_view,
    window_reduction,
)
from sdy.evidence.proof.views import adjoined, broadcast, slice_along, transposed
from sdy.evidence.proof.walk import Lemma, Walk, element_of, shape_of


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


def select(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a mask that tells shards or padding apart gives contributions, or known padding."""
    mask, kept, other = known_operands(operands)
    if isinstance(mask, Known) and not (isinstance(kept, Known) and isinstance(other, Known)):
        found = selected(mask, _readable(walk, kept), _readable(walk, other), walk.devices)
        if found is not None:
            return [found]
    if isinstance(mask, View) and mask.term.is_varying and isinstance(kept, View):
        result = gathered_by_mask(cleaned(mask, walk.table), kept, to_view(walk, other), walk.devices, walk.table)
        if result is not None:
            return [result]
    return pointwise(walk, op, [mask, kept, other])


def _readable(walk: Walk, relation: View | Known) -> View | Known:
    return as_view(relation, walk.table) if isinstance(relation, Known) and relation.dim is None else relation


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
        return [moved(value, shape, None if value.dim is None else dims[value.dim])]
    return [broadcast(value, shape, dims)]


def reshape(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a reshape keeps the order of elements."""
    (value,), shape = known_operands(operands), shape_of(op.results[0])
    if isinstance(value, Known):
        dim = _reshaped_dim(value, shape)
        if dim is not None or value.dim is None:
            return [moved(value, shape, dim)]
        value = as_view(value, walk.table)
    if walk.table.is_recording:
        try:
            return [noted_reshape(value, shape, walk.table)]
        except NotProvedError:
            pass  # of a window in a manual computation, which a later op may complete
    return [reshaped_as_noted(value, shape, walk.table)]


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
        return [moved(value, shape_of(op.results[0]), None if value.dim is None else permutation.index(value.dim))]
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
    factors, sliced = sliced_update(op)
    return compute(walk, op, factors, [value, update, *(starts[dim] for dim in sliced)])


def concatenate(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: values that are unsharded along a dim are concatenated like the global ones; empty ones do not count.

    Windows that are next to each other in a term are a window of it.
    """
    kept = [position for position, each in enumerate(op.operands) if 0 not in shape_of(each)]
    parts = known_operands([operands[each] for each in kept])
    if len(parts) == 1:
        return [parts[0]]
    dim, views = number(op, "dimension"), [each for each in parts if isinstance(each, View)]
    if not walk.table.is_recording and len(views) == len(parts) and (found := adjoined(views, dim, walk.devices)):
        return [found]
    return [concatenated(walk, op, parts, tuple(shape_of(op.operands[each])[dim] for each in kept))]


def gather(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a gather of slices along unsharded dims takes windows of them."""
    return gather_one_slice(walk, op, operands) or gather_elements(walk, op, operands)


def pad(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: padding at the edge of a term is outside of it; unsharded values are padded like the global ones."""
    value, filling = (to_view(walk, each) for each in known_operands(operands))
    low, high, interior = (ints(op, f"{each}padding{rest}") for each, rest in PADDINGS)
    dims = [dim for dim, each in enumerate(zip(low, high, interior, strict=True)) if any(each)]
    if not dims:
        return [value]
    value = cleaned(value, walk.table)
    if not walk.table.is_recording and not any(interior):
        found = None if filling.base else _padded_window(value, filling, low, high, dims)
        if found is not None:
            return [found]

    factors = along(op, dims, tuple((dim, low[dim], high[dim], interior[dim]) for dim in dims))
    padded = cast("View", compute(walk, op, factors, [value, filling])[0])
    _note_padded(walk, value, padded, tuple(zip(low, high, interior, strict=True)))
    return [padded]


def _note_padded(walk: Walk, value: View, result: View, amounts: tuple[tuple[int, int, int], ...]) -> None:
    """Note what a padded copy is of, given the amounts along each local dim, for windows over it."""
    # Where each dim of the operand is in the padded term, for windows that reach over the end of the operand. A dim of
    # size 1 is not in a term, which so would not tell where such a dim is padded.
    local = {dim_of(digits): dim for dim, digits in enumerate(value.dims) if dim_of(digits) != FREE}
    is_known = {dim for dim, each in enumerate(amounts) if any(each)} <= set(local.values())
    if is_known and not any(each[2] for each in amounts) and len(result.base) == len(value.base):
        layout = tuple(dim_of(result.dims[local[each]]) for each in range(len(local)))
        edges = tuple(amounts[local[each]][0] for each in range(len(local)))
        walk.table.derive(value.term, result.term, layout, edges)


PADDINGS = (("edge_", "_low"), ("edge_", "_high"), ("interior_", ""))


def _padded_window(
    value: View, filling: View, low: Sequence[int], high: Sequence[int], dims: Sequence[int]
) -> View | None:
    """Return the padded window if the padding lies outside of the term on every device, otherwise None."""
    base, digits = list(value.base), list(value.dims)
    if filling.partial is not None:
        return None
    if value.partial is not None and not is_neutral(filling.term, value.partial.kind):
        return None
    for each in range(len(value.base)):
        extent = next(found[0].size for found in value.dims if dim_of(found) == each)
        if not is_inside(value.base[each], extent, value.term.shape[each]) and value.outside is not filling.term:
            return None
    for dim in dims:
        each = dim_of(value.dims[dim])
        if each == FREE:
            return None
        start, extent = value.base[each], value.dims[dim][0].size
        starts = (start,) if isinstance(start, int) else start
        size = value.term.shape[each]
        if low[dim] < 0 or high[dim] < 0 or (low[dim] and any(s > 0 for s in starts)):
            return None
        if high[dim] and any(s + extent < size for s in starts):
            return None
        base[each] = plus(start, low[dim], -1)
        digits[dim] = (value.dims[dim][0]._replace(size=extent + low[dim] + high[dim]),)
    return replace(value, base=tuple(base), dims=tuple(digits), outside=filling.term)


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
    "stablehlo.dot": contraction,
    "stablehlo.dot_general": contraction,
    "stablehlo.reduce": reduction,
    "stablehlo.reduce_window": window_reduction,
    "stablehlo.select_and_scatter": window_reduction,
    "stablehlo.gather": gather,
    "stablehlo.scatter": scatter_elements,
    "stablehlo.convolution": convolution,
    "stablehlo.reverse": reverse,
    **dict.fromkeys(BY_ROWS, by_rows),
    "stablehlo.optimization_barrier": same,
    **dict.fromkeys(UNCHANGED, same),
    "sdy.sharding_group": nothing,
    "func.call": control.call,
    "stablehlo.case": control.branches,
    "stablehlo.if": control.branches,
    "stablehlo.while": control.loop,
    **COLLECTIVES,
}
