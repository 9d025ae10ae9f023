"""Ops that move data, on codes of elements: arrays of a dim of devices, or of size 1 for all, and the local dims."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.stablehlo.gather_scatter import GatherOp
from sdy.proof.factors import ints, number
from sdy.proof.relations import Codes
from sdy.proof.terms import Shape
from sdy.proof.walk import shape_of

Move = Callable[[Operation, Sequence[Codes]], Codes]


def _slice(op: Operation, codes: Sequence[Codes]) -> Codes:
    bounds = zip(ints(op, "start_indices"), ints(op, "limit_indices"), ints(op, "strides"), strict=True)
    return codes[0][(slice(None), *(slice(*each) for each in bounds))]


def _pad(op: Operation, codes: Sequence[Codes]) -> Codes:
    value, filling = codes
    count = max(len(value), len(filling))
    shape = shape_of(op.results[0])
    low, interior = ints(op, "edge_padding_low"), ints(op, "interior_padding")
    found = np.broadcast_to(filling.reshape((-1, *(1,) * len(shape))), (count, *shape)).copy()
    source: list[slice] = [slice(None)]
    target: list[slice] = [slice(None)]
    for dim, (start, step) in enumerate(zip(low, (each + 1 for each in interior), strict=True)):
        first = max(0, -(start // step))  # elements that negative padding removes
        last = min(value.shape[dim + 1], -((start - shape[dim]) // step))
        source.append(slice(first, max(first, last)))
        target.append(slice(start + first * step, max(0, start + last * step - step + 1), step))
    found[tuple(target)] = value[tuple(source)]
    return found


def _concatenate(op: Operation, codes: Sequence[Codes]) -> Codes:
    count = max(map(len, codes))
    parts = [np.broadcast_to(each, (count, *each.shape[1:])) for each in codes]
    return np.concatenate(parts, number(op, "dimension") + 1)


def _broadcast(op: Operation, codes: Sequence[Codes]) -> Codes:
    shape, dims = shape_of(op.results[0]), ints(op, "broadcast_dimensions")
    order = sorted(range(len(dims)), key=lambda each: dims[each])
    value = codes[0].transpose((0, *(each + 1 for each in order)))
    sizes = {dims[each]: size for each, size in zip(order, value.shape[1:], strict=True)}
    value = value.reshape((len(value), *(sizes.get(dim, 1) for dim in range(len(shape)))))
    return np.broadcast_to(value, (len(value), *shape)).copy()


def _dynamic_slice(op: Operation, codes: Sequence[Codes]) -> Codes:
    value, *starts = codes
    count, shape = max(map(len, codes)), shape_of(op.results[0])
    rows: list[Codes] = []
    for device in range(count):
        one = value[device % len(value)]
        for dim, (start, size) in enumerate(zip(starts, shape, strict=True)):
            first = int(np.clip(start[device % len(start)], 0, value.shape[dim + 1] - size))
            one = one.take(range(first, first + size), dim)
        rows.append(one)
    return np.stack(rows)


def updated_at_known(codes: Sequence[Codes]) -> Codes:
    """Return a value after an update of a slice whose starts are known: value, update and starts of each dim."""
    value, update, *starts = codes
    found = np.broadcast_to(value, (max(map(len, codes)), *value.shape[1:])).copy()
    for device, row in enumerate(found):
        window: list[slice] = []
        for start, size, part in zip(starts, value.shape[1:], update.shape[1:], strict=True):
            first = int(np.clip(start[device % len(start)], 0, size - part))
            window.append(slice(first, first + part))
        row[tuple(window)] = update[device % len(update)]
    return found


def _gather(op: Operation, codes: Sequence[Codes]) -> Codes:
    """Return the elements of slices that begin at known indices."""
    assert isinstance(op, GatherOp)
    numbers, sizes, shape = op.dimension_numbers.data, ints(op, "slice_sizes"), shape_of(op.result)
    value, indices = codes
    if numbers.index_vector_dim == indices.ndim - 1:
        indices = indices[..., None]
    starts = np.moveaxis(indices, numbers.index_vector_dim + 1, -1)
    batch = [dim for dim in range(len(shape)) if dim not in numbers.offset_dims]
    spread = [shape[dim] if dim in batch else 1 for dim in range(len(shape))]
    starts = starts.reshape((len(starts), *spread, starts.shape[-1]))
    batching = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
    offsets = iter(numbers.offset_dims)
    places: list[Codes] = []
    for dim, size in enumerate(value.shape[1:]):
        place = np.zeros(starts.shape[:-1], np.int64)
        if dim in numbers.start_index_map:
            place = np.clip(starts[..., numbers.start_index_map.index(dim)], 0, size - sizes[dim])
        if dim in batching:
            before = batching[dim] - (batching[dim] > numbers.index_vector_dim)
            place = place + _along(batch[before], shape)
        elif dim not in numbers.collapsed_slice_dims:
            place = place + _along(next(offsets), shape)
        places.append(place)
    count = max(len(value), len(starts))
    device = np.arange(count).reshape((-1, *(1,) * len(shape))) % len(value)
    return value[(device, *places)]


def _along(dim: int, shape: Shape) -> Codes:
    """Return the position along a dim of each element of a shape, after a dim of devices."""
    return np.arange(shape[dim], dtype=np.int64).reshape((-1, *(1,) * (len(shape) - dim - 1)))


def _reverse(op: Operation, codes: Sequence[Codes]) -> Codes:
    return np.flip(codes[0], tuple(dim + 1 for dim in ints(op, "dimensions")))


MOVES: dict[str, Move] = {
    "stablehlo.slice": _slice,
    "stablehlo.pad": _pad,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.gather": _gather,
    "stablehlo.reshape": lambda op, codes: codes[0].reshape((-1, *shape_of(op.results[0]))),
    "stablehlo.transpose": lambda op, codes: codes[0].transpose((0, *(dim + 1 for dim in ints(op, "permutation")))),
    "stablehlo.reverse": _reverse,
}
INDEXED = frozenset({"stablehlo.dynamic_slice", "stablehlo.gather"})
