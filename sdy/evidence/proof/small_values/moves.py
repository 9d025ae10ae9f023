"""Ops that move data, on codes of elements: arrays of a dim of devices, or of size 1 for all, and the local dims.

Starts of slices that are not known select elements: each of the possible ones, times whether it is the one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.stablehlo.gather_scatter import GatherOp
from sdy.evidence.proof.factors import ints, number
from sdy.evidence.proof.relations import ARBITRARY, Codes
from sdy.evidence.proof.rings import ONE, added, as_integers, check_work, scaled
from sdy.evidence.proof.small_values.choices import Ends, Selected
from sdy.evidence.proof.small_values.codes import ElementTable
from sdy.evidence.proof.terms import Shape
from sdy.evidence.proof.walk import element_of, shape_of

Move = Callable[[ElementTable, Operation, Sequence[Codes]], Codes]


def _slice(table: ElementTable, op: Operation, codes: Sequence[Codes]) -> Codes:
    bounds = zip(ints(op, "start_indices"), ints(op, "limit_indices"), ints(op, "strides"), strict=True)
    return codes[0][(slice(None), *(slice(*each) for each in bounds))]


def _pad(table: ElementTable, op: Operation, codes: Sequence[Codes]) -> Codes:
    low, interior = ints(op, "edge_padding_low"), ints(op, "interior_padding")
    return padded(codes[0], codes[1], shape_of(op.results[0]), low, interior)


def padded(value: Codes, filling: Codes, shape: Shape, low: Sequence[int], interior: Sequence[int]) -> Codes:
    """Return a value in a shape that is filled with another element, with `interior` of these between its elements."""
    count = max(len(value), len(filling))
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


def _concatenate(table: ElementTable, op: Operation, codes: Sequence[Codes]) -> Codes:
    count = max(map(len, codes))
    parts = [np.broadcast_to(each, (count, *each.shape[1:])) for each in codes]
    return np.concatenate(parts, number(op, "dimension") + 1)


def _broadcast(table: ElementTable, op: Operation, codes: Sequence[Codes]) -> Codes:
    shape, dims = shape_of(op.results[0]), ints(op, "broadcast_dimensions")
    order = sorted(range(len(dims)), key=lambda each: dims[each])
    value = codes[0].transpose((0, *(each + 1 for each in order)))
    sizes = {dims[each]: size for each, size in zip(order, value.shape[1:], strict=True)}
    value = value.reshape((len(value), *(sizes.get(dim, 1) for dim in range(len(shape)))))
    return np.broadcast_to(value, (len(value), *shape)).copy()


def _dynamic_slice(table: ElementTable, op: Operation, codes: Sequence[Codes]) -> Codes:
    shape = shape_of(op.results[0])
    count = max(map(len, codes[1:]))
    columns = [np.broadcast_to(each, (count,)) for each in codes[1:]]
    starts = np.stack(columns, -1).reshape(count, *(1,) * len(shape), len(shape))
    places = [_along(dim, shape) for dim in range(len(shape))]
    return _selected(table, op, codes[0], starts, range(len(shape)), shape, places)


def _gather(table: ElementTable, op: Operation, codes: Sequence[Codes]) -> Codes:
    assert isinstance(op, GatherOp)
    numbers, sizes, shape = op.dimension_numbers.data, ints(op, "slice_sizes"), shape_of(op.result)
    starts = columns(codes[1], numbers.index_vector_dim)
    batch = [dim for dim in range(len(shape)) if dim not in numbers.offset_dims]
    spread = [shape[dim] if dim in batch else 1 for dim in range(len(shape))]
    starts = starts.reshape((len(starts), *spread, starts.shape[-1]))
    batching = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
    offsets = iter(numbers.offset_dims)
    places: list[Codes] = []
    for dim in range(len(sizes)):
        if dim in batching:
            before = batching[dim] - (batching[dim] > numbers.index_vector_dim)
            places.append(_along(batch[before], shape))
        else:
            is_collapsed = dim in numbers.collapsed_slice_dims
            places.append(np.zeros(1, np.int64) if is_collapsed else _along(next(offsets), shape))
    return _selected(table, op, codes[0], starts, numbers.start_index_map, sizes, places)


def _selected(
    table: ElementTable,
    op: Operation,
    value: Codes,
    starts: Codes,
    dims: Sequence[int],
    sizes: Shape,
    places: Sequence[Codes],
) -> Codes:
    """Return the elements at places after starts, `[..., dims]`, which are clamped so that windows lie in the value."""
    last = [value.shape[dim + 1] - sizes[dim] for dim in dims]
    shape = np.broadcast_shapes(*(each.shape for each in (*places, starts[..., 0] if dims else places[0])))
    device = np.arange(max(len(value), shape[0])).reshape((-1, *(1,) * (len(shape) - 1))) % len(value)
    numbers, are_known = as_integers(starts)
    if are_known.all():
        moved = list(places)
        for k, dim in enumerate(dims):
            moved[dim] = moved[dim] + np.clip(numbers[..., k], 0, last[k])
        return value[(device, *moved)]
    ends = [clamped_ends(each) for each in last]
    bits = [table.choices.in_intervals(starts[..., k], each) for k, each in enumerate(ends)]
    check_work(prod(each + 1 for each in last) * prod(np.broadcast_shapes(device.shape, shape)))
    total, leaves = np.zeros(1, np.int64), list[Codes]()
    for first in product(*(range(each + 1) for each in last)):
        moved, mask = list(places), np.array(ONE)
        for k, dim in enumerate(dims):
            moved[dim] = moved[dim] + first[k]
            mask = scaled(mask, bits[k][..., first[k]])
        leaves.append(value[(device, *moved)])
        total = np.where(mask == 0, total, added(total, scaled(mask, leaves[-1])))
    table.masked.note_choice(element_of(op.results[0]), total, *leaves)
    selected = Selected(
        np.broadcast_to(starts, (*total.shape, len(dims))).reshape(-1, len(dims)),
        ends,
        np.stack([np.broadcast_to(each, total.shape).reshape(-1) for each in leaves]),
    )
    for position, code in enumerate(total.reshape(-1).tolist()):
        if code != ARBITRARY:
            table.choices.selected.setdefault(code, (selected, position))
    return total


def clamped_ends(last: int) -> list[Ends]:
    """Return the intervals of a start that is 0, 1, ..., `last` after it is clamped."""
    return [(each or None, each if each < last else None) for each in range(last + 1)]


def columns(indices: Codes, vector_dim: int) -> Codes:
    """Return starts with the dim of their vectors last; there is none if its number is the rank."""
    return np.moveaxis(indices if vector_dim + 1 < indices.ndim else indices[..., None], vector_dim + 1, -1)


def _along(dim: int, shape: Shape) -> Codes:
    """Return the position along a dim of each element of a shape, after a dim of devices."""
    return np.arange(shape[dim], dtype=np.int64).reshape((-1, *(1,) * (len(shape) - dim - 1)))


def _reverse(table: ElementTable, op: Operation, codes: Sequence[Codes]) -> Codes:
    return np.flip(codes[0], tuple(dim + 1 for dim in ints(op, "dimensions")))


MOVES: dict[str, Move] = {
    "stablehlo.slice": _slice,
    "stablehlo.pad": _pad,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.gather": _gather,
    "stablehlo.reshape": lambda table, op, codes: codes[0].reshape((-1, *shape_of(op.results[0]))),
    "stablehlo.transpose": lambda table, op, codes: codes[0].transpose(
        (0, *(dim + 1 for dim in ints(op, "permutation")))
    ),
    "stablehlo.reverse": _reverse,
}
