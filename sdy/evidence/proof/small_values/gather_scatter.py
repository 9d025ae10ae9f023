"""Scatters and updates of slices on codes: each element changes where a start is the one that reaches it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple, cast

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.stablehlo.attributes.attrs import ScatterDimensionNumbers
from sdy.dialects.stablehlo.gather_scatter import ScatterOp
from sdy.evidence.proof.contributions import IDEMPOTENT, is_float
from sdy.evidence.proof.relations import Codes, NotProvedError
from sdy.evidence.proof.rings import ONE, check_work, is_ring, known, lanes, packed, scaled
from sdy.evidence.proof.small_values.codes import ElementTable
from sdy.evidence.proof.small_values.elementwise import combined
from sdy.evidence.proof.small_values.moves import clamped_ends, columns
from sdy.evidence.proof.terms import Shape
from sdy.evidence.proof.walk import Walk, element_of

MOST_STEPS = 2**14  # pairs of an update and an element of its window, of one op


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of `sizes` elements in a value of a shape: the update number `index` starts at `starts[:, index]`."""

    shape: Shape
    sizes: Shape
    batching: dict[int, int]  # dims of the index, by the dim of the value whose elements they are
    starts: dict[int, tuple[int, Codes]]  # by dim: whether the start of each update is the first number, the next, ...

    def at(self, index: Sequence[int], offsets: dict[int, int]) -> tuple[tuple[slice, ...], tuple[slice, ...], Codes]:
        """Return the elements that the element at `offsets` of a window may reach, its part of the update, and a mask.

        The mask is whether the window of the update starts where it reaches the element.
        """
        region, part, mask = [slice(None)], [slice(None)], np.full((1,) * (len(self.shape) + 1), ONE)
        for dim, (size, extent) in enumerate(zip(self.sizes, self.shape, strict=True)):
            start, end, cut = 0, size, slice(None)
            if dim in self.batching:
                start = index[self.batching[dim]]
                end = start + 1
            elif dim in self.starts:
                offset, (first, bits) = offsets[dim], self.starts[dim]
                start, end = max(0, first + offset), min(extent, first + offset + bits.shape[-1])
                bit = bits[(slice(None), *index)][:, start - offset - first : end - offset - first]
                cut = slice(offset, offset + 1)
                mask = scaled(
                    mask, bit.reshape(len(bit), *(-1 if each == dim else 1 for each in range(len(self.shape))))
                )
            region.append(slice(start, end))
            part.append(cut)
        return tuple(region), tuple(part), mask


class Hit(NamedTuple):
    """Elements of a value that an element of the windows of an update may reach: whether it does, and what it is.

    Hits of one `layer` reach different elements.
    """

    layer: tuple[int, ...]
    region: tuple[slice, ...]
    mask: Codes
    update: Codes


def hits(windows: Windows, updates: Codes, count: int) -> Iterator[list[Hit]]:
    """Yield, per update in order, what its elements may reach; `count` is the number of elements on all devices."""
    batch = updates.shape[1 : updates.ndim - len(windows.shape)]
    ranges = (range(windows.sizes[dim]) for dim in windows.starts)
    offsets = [dict(zip(windows.starts, each, strict=True)) for each in product(*ranges)]
    steps = prod(batch) * len(offsets)
    check_work(steps * count // prod(windows.shape[dim] for dim in windows.batching))
    if steps > MOST_STEPS:
        raise NotProvedError("so many updates are followed by their windows only")
    others = [dim for dim in range(len(batch)) if dim not in windows.batching.values()]
    for index in np.ndindex(*batch):
        found: list[Hit] = []
        for number, each in enumerate(offsets):
            region, part, mask = windows.at(index, each)
            if mask.any():
                layer = (number, *(index[dim] for dim in others))
                found.append(Hit(layer, region, mask, updates[(slice(None), *index, *part[1:])]))
        yield found


def updated(
    table: ElementTable, op: Operation, windows: Windows, values: Sequence[Codes], body: Callable[[Codes, Codes], Codes]
) -> Codes:
    """Return a value after updates in order; `body` computes an element from itself and that of the update."""
    element, value, updates = element_of(op.results[0]), values[0].copy(), values[1]
    for each in hits(windows, updates, value.size):
        before = [value[hit.region].copy() for hit in each]  # at most one element of an update reaches an element
        for hit, old in zip(each, before, strict=True):
            now, mask = value[hit.region], np.broadcast_to(hit.mask, old.shape)
            new = body(old, np.broadcast_to(hit.update, old.shape))
            changed = known(packed(lanes(now) + lanes(mask) * (lanes(new) - lanes(old))), new, old, now)
            found = np.where(mask == 0, now, np.where(mask == ONE, new, changed))
            table.masked.note_choice(element, found, new, now)
            value[hit.region] = found
    return value


def in_any_order(table: ElementTable, windows: Windows, value: Codes, updates: Codes) -> list[Codes]:
    """Return values whose maximum, or the like, is a value after updates by it."""
    layers: dict[tuple[int, ...], Codes] = {}
    for each in hits(windows, updates, value.size):
        for hit in each:
            layer = layers.setdefault(hit.layer, value.copy())
            mask, update, old = np.broadcast_arrays(hit.mask, hit.update, value[hit.region])
            found = np.where(mask == ONE, update, table.variables("update", [mask, update]))
            layer[hit.region] = np.where(mask == 0, old, found)
    return [value, *layers.values()]


def scatter(table: ElementTable, walk: Walk, op: Operation, codes: Sequence[Codes]) -> list[Codes]:
    """Return a value after the updates of a scatter; elements of a window outside of the value are left out."""
    assert isinstance(op, ScatterOp)
    if len(op.inputs) != 1:
        raise NotProvedError("a scatter of several values")
    element = element_of(op.results[0])
    (term,), kind = walk.fingerprint(op.regions[0])
    value = np.broadcast_to(codes[0], (max(map(len, codes)), *codes[0].shape[1:]))
    if kind == "add" and is_float(element):  # a negative zero changes nothing that is added to it
        value = np.where(value == table.minus_zero(element), 0, value)
    windows, updates = _windows(table, op.scatter_dimension_numbers.data, value.shape[1:], codes[1], codes[2])

    def body(old: Codes, update: Codes) -> Codes:
        if kind == "add" and is_ring(element):
            return combined(table, kind, element, [old, update])
        if term.op == "scalar":
            return update if cast("tuple[int, int]", term.attributes)[1] else old
        return table.variables(("body", term), [old, update])

    if kind in IDEMPOTENT:
        return [combined(table, kind, element, in_any_order(table, windows, value, updates))]
    return [updated(table, op, windows, (value, updates), body)]


def _windows(
    table: ElementTable, numbers: ScatterDimensionNumbers, shape: Shape, indices: Codes, updates: Codes
) -> tuple[Windows, Codes]:
    """Return the windows of a scatter, and its updates with the dims of the indices first and all dims of the value."""
    starts, vector = columns(indices, numbers.index_vector_dim), numbers.index_vector_dim
    batch = starts.shape[1:-1]
    window_dims = [dim + 1 for dim in numbers.update_window_dims]
    updates = np.moveaxis(updates, window_dims, range(updates.ndim - len(window_dims), updates.ndim))
    inner = iter(updates.shape[1 + len(batch) :])
    removed = (*numbers.inserted_window_dims, *numbers.input_batching_dims)
    sizes = tuple(1 if dim in removed else next(inner) for dim in range(len(shape)))
    firsts: dict[int, tuple[int, Codes]] = {}
    for k, dim in enumerate(numbers.scatter_dims_to_operand_dims):
        ends = [(each, each) for each in range(1 - sizes[dim], shape[dim])]
        firsts[dim] = 1 - sizes[dim], table.choices.in_intervals(starts[..., k], ends)
    pairs = zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    batching = {dim: each - (each > vector) for dim, each in pairs}
    return Windows(shape, sizes, batching, firsts), updates.reshape(len(updates), *batch, *sizes)


def update_slice(table: ElementTable, walk: Walk, op: Operation, codes: Sequence[Codes]) -> list[Codes]:
    """Return a value after an update of a slice, whose starts are clamped."""
    value, update, *starts = codes
    shape, sizes = value.shape[1:], update.shape[1:]
    last = [extent - size for extent, size in zip(shape, sizes, strict=True)]
    firsts = {
        dim: (0, table.choices.in_intervals(starts[dim], clamped_ends(end))) for dim, end in enumerate(last) if end
    }
    value = np.broadcast_to(value, (max(map(len, codes)), *shape))
    return [updated(table, op, Windows(shape, sizes, {}, firsts), (value, update), lambda old, new: new)]
