"""The lemma of gradients of pooling whose windows do not overlap: a shard of the windows has its own elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from xdsl.ir import Operation

from sdy.evidence.proof.compute import Computation, computed
from sdy.evidence.proof.factors import Factors, ints
from sdy.evidence.proof.offsets import Offset, plus, spread
from sdy.evidence.proof.readings import plain_readings
from sdy.evidence.proof.relations import FREE, Digit, NotProvedError, View, dim_of, tidy
from sdy.evidence.proof.walk import Walk, element_of, shape_of
from sdy.evidence.proof.windows.shards import placed


def scattered_to_tiles(walk: Walk, op: Operation, factors: Factors, operands: Sequence[View]) -> View:
    """Return the result of a `select_and_scatter` of the values of windows to one element of each.

    Raises: NotProvedError if the windows overlap, or if devices have other elements than those of their windows.
    """
    value, source, init = operands
    found: View | None = None
    for reading in product(plain_readings(value, walk.table), plain_readings(source, walk.table)):
        result = _on_tiles(walk, op, factors, reading, init)
        if result is not None and walk.table.is_global(result.term):
            return result
        found = found or result
    if found is None:
        raise NotProvedError("expected windows that do not overlap, with the elements of each device")
    return found


def _on_tiles(walk: Walk, op: Operation, factors: Factors, reading: tuple[View, View], init: View) -> View | None:
    """Return the result if each device has the elements of its windows in a reading of the operands, else None."""
    bases, dims = [list(each.base) for each in reading], [list(each.dims) for each in reading]
    shape = list(shape_of(op.results[0]))
    own: dict[int, tuple[Offset, int]] = {}  # the elements of the device, by dim
    for dim, stride in enumerate(_strides_of_tiles(op)):
        numbers = [dim_of(each.dims[dim]) for each in reading]
        if stride is None or numbers == [FREE, FREE]:
            continue
        found = _tile(reading, dim, numbers, stride)
        if found is None:
            return None
        start, size = found
        own[dim] = start, reading[0].shape[dim]
        shape[dim] = size
        for position, (number, extent) in enumerate(zip(numbers, (size, size // stride), strict=True)):
            dims[position][dim] = (Digit(extent, number, 0 if number == FREE else 1),)
            if number != FREE:
                bases[position][number] = 0
    whole = [
        replace(view, base=tuple(base), dims=tidy(each)) for view, base, each in zip(reading, bases, dims, strict=True)
    ]
    work = Computation(op.name, factors, (tuple(shape),), (element_of(op.results[0]),), walk.devices)
    try:
        (result,) = computed(work, [*whole, init], walk.table)
    except NotProvedError:
        return None
    return placed(result, own)


def _tile(reading: Sequence[View], dim: int, numbers: Sequence[int], stride: int) -> tuple[Offset, int] | None:
    """Return where the elements of each device start along a dim, and the global size of the dim.

    None if these are not the elements of its windows. An operand may repeat along the dim.
    """
    value, source = reading
    if value.shape[dim] != stride * source.shape[dim]:
        return None
    first, windows = (0, 0) if numbers[1] == FREE else (source.base[numbers[1]], source.term.shape[numbers[1]])
    if numbers[0] == FREE:
        return plus(0, first, stride), stride * windows
    start, size = value.base[numbers[0]], value.term.shape[numbers[0]]
    if numbers[1] == FREE:
        return (start, size) if not any(each % stride for each in (*spread(start), size)) else None
    return (start, size) if plus(start, first, -stride) == 0 and size == stride * windows else None


def _strides_of_tiles(op: Operation) -> list[int | None]:
    """Return, per dim, the distance of windows that are not padded and do not overlap; None for other windows."""
    sizes, strides, padding = (ints(op, name) for name in ("window_dimensions", "window_strides", "padding"))
    rank = len(shape_of(op.operands[0]))
    found: list[int | None] = []
    for dim in range(rank):
        size, stride = (each[dim] if each else 1 for each in (sizes, strides))
        is_tile = size <= stride and not any(padding[2 * dim : 2 * dim + 2])
        found.append(stride if is_tile and stride > 1 else None)
    return found
