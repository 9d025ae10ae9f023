"""Sort by the comparator region of an op: by NumPy if it compares one input, else by a sorting network."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Block

from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection, ComparisonType
from sdy.dialects.stablehlo.elementwise import CompareOp
from sdy.interpreter.arrays.element_types import Array, compute_dtype, is_complex, is_float
from sdy.interpreter.arrays.field_types import COMPLEX, is_field, parts_of
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.kernel import Arrays, KernelContext, field_of, with_unit_dims
from sdy.interpreter.ops.arithmetic import total_order_key

_IS_DESCENDING = {ComparisonDirection.LT: False, ComparisonDirection.GT: True}


def sorted_together(context: KernelContext, comparator: Block, inputs: Arrays, dim: int, captured: Arrays) -> Arrays:
    """Sort the inputs together along `dim`, stably: the comparator never holds of an element and one before it."""
    leading = np.broadcast_shapes(*(context.leading(array) for array in inputs))
    rows = tuple(
        np.moveaxis(np.broadcast_to(array, leading + context.local(array)), context.rank + dim, -1) for array in inputs
    )
    order = _order_by_key(context, comparator, rows)
    if order is None:
        order = _order_by_network(context, comparator, rows, captured)
    return tuple(np.moveaxis(np.take_along_axis(row, order, axis=-1), -1, context.rank + dim) for row in rows)


def stable_order(keys: Array, *, descending: bool) -> IntArray:
    """Return the indices that sort the keys along the last dim; equal keys keep their order."""
    if not descending:
        return np.argsort(keys, axis=-1, kind="stable").astype(np.int64)
    # Reversing the row reverses the order of equal keys; reversing the result restores it.
    turned = np.argsort(keys[..., ::-1], axis=-1, kind="stable").astype(np.int64)
    return keys.shape[-1] - 1 - turned[..., ::-1]


def total_order(context: KernelContext, array: Array) -> Array:
    """Return keys that are ordered as the elements are in their total order, with NaN as the largest."""
    if is_field(array.dtype):
        return field_of(context).total_key(parts_of(array)[0])
    return total_order_key(array) if is_float(array.dtype) else array.astype(compute_dtype(array.dtype), copy=False)


def _order_by_key(context: KernelContext, comparator: Block, rows: Arrays) -> IntArray | None:
    """Return the order if the comparator only compares both elements of one input, else None."""
    terminator = comparator.last_op
    compare = None if terminator is None else terminator.operands[0].owner
    if not isinstance(compare, CompareOp) or compare.comparison_direction.data not in _IS_DESCENDING:
        return None
    positions = [comparator.args.index(side) for side in (compare.lhs, compare.rhs) if side in comparator.args]
    if len(positions) != 2 or positions[0] // 2 != positions[1] // 2 or positions[0] == positions[1]:
        return None
    keys = rows[positions[0] // 2]
    is_total = compare.compare_type is not None and compare.compare_type.data is ComparisonType.TOTALORDER
    if is_complex(keys.dtype) or keys.dtype == COMPLEX:
        return None
    if not is_total and _has_nan(keys):
        return None  # not a strict weak order: NaN is neither before nor after any value
    keys = total_order(context, keys) if is_total or is_field(keys.dtype) else keys.astype(compute_dtype(keys.dtype))
    is_swapped = positions[0] > positions[1]
    descending = _IS_DESCENDING[compare.comparison_direction.data] != is_swapped
    return stable_order(keys, descending=descending)


def _has_nan(keys: Array) -> bool:
    if is_field(keys.dtype):
        return bool(np.isnan(parts_of(keys)[0]).any())
    return is_float(keys.dtype) and bool(np.isnan(keys.astype(compute_dtype(keys.dtype), copy=False)).any())


def _order_by_network(context: KernelContext, comparator: Block, rows: Arrays, captured: Arrays) -> IntArray:
    """Return the order by Batcher's merge exchange: all pairs of a step are compared at once."""
    size = rows[0].shape[-1]
    order: IntArray = np.broadcast_to(np.arange(size, dtype=np.int64), rows[0].shape).copy()
    for low, high in _exchanges(size):
        first, second = order[..., low], order[..., high]
        lhs = tuple(np.take_along_axis(row, first, axis=-1) for row in rows)
        rhs = tuple(np.take_along_axis(row, second, axis=-1) for row in rows)
        is_before = _holds(context, comparator, lhs, rhs, captured)
        is_after = _holds(context, comparator, rhs, lhs, captured)
        swap = is_after | (~is_before & (second < first))
        order[..., low] = np.where(swap, second, first)
        order[..., high] = np.where(swap, first, second)
    return order


def _holds(context: KernelContext, comparator: Block, lhs: Arrays, rhs: Arrays, captured: Arrays) -> NDArray[np.bool_]:
    """Return for each pair of elements whether the comparator holds."""
    sizes = context.local(lhs[0])
    pairs = tuple(side for pair in zip(lhs, rhs, strict=True) for side in pair)
    outer = tuple(with_unit_dims(context, value, len(sizes)) for value in captured)
    (result,) = context.runner.run_block(context.with_elements(sizes), comparator, pairs, outer)
    return np.broadcast_to(result, lhs[0].shape).astype(np.bool_)


def _exchanges(size: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the positions that each step of the network compares.

    Source: Knuth, The Art of Computer Programming, 5.2.2 M.
    """
    top = 1 << max(size - 1, 0).bit_length() >> 1
    part = top
    while part:
        step, remainder, distance = top, 0, part
        while True:
            low = np.arange(max(size - distance, 0), dtype=np.int64)
            low = low[(low & part) == remainder]
            yield low, low + distance
            if step == part:
                break
            distance, step, remainder = step - part, step >> 1, part
        part >>= 1
