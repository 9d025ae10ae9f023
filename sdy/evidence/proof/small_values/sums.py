"""Ops that combine elements, on codes: contractions, convolutions, and reductions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.dialects.stablehlo.window import ConvolutionOp
from sdy.evidence.proof.factors import ints, number, pairs_of_dims
from sdy.evidence.proof.relations import Codes, NotProvedError
from sdy.evidence.proof.rings import added, check_work, is_ring
from sdy.evidence.proof.small_values.codes import ElementTable
from sdy.evidence.proof.small_values.elementwise import combined, multiplied
from sdy.evidence.proof.small_values.moves import padded
from sdy.evidence.proof.terms import Shape
from sdy.evidence.proof.walk import Walk, element_of, shape_of


def _contracted(table: ElementTable, op: Operation, left: Codes, right: Codes) -> Codes:
    """Return the sums of products `[devices, group, m, n]` of `[devices, group, m, k]` and `[devices, group, n, k]`."""
    element = element_of(op.results[0])
    if (
        not is_ring(element)
        or any(element_of(each) != element for each in op.operands)
        or left.shape[3] != right.shape[3]
    ):
        raise NotProvedError("sums of products in another type")
    count = max(len(left), len(right))
    check_work(count * left[0].size * right.shape[2])
    found = np.zeros((count, left.shape[1], left.shape[2], right.shape[2]), np.int64)
    for k in range(left.shape[3]):
        found = added(found, multiplied(table, element, left[:, :, :, None, k], right[:, :, None, :, k]))
    return found


def dot(table: ElementTable, walk: Walk, op: Operation, codes: Sequence[Codes]) -> list[Codes]:
    """Return the sums of products of a contraction."""
    assert isinstance(op, DotGeneralOp | DotOp)
    batching, contracting = pairs_of_dims(op)
    arranged: list[Codes] = []
    kept: list[Shape] = []
    for side, value in enumerate(codes):
        pairs = [each[side] for each in batching], [each[side] for each in contracting]
        rest = [dim for dim in range(value.ndim - 1) if dim not in pairs[0] + pairs[1]]
        sizes = [tuple(value.shape[dim + 1] for dim in dims) for dims in (pairs[0], rest, pairs[1])]
        order = (0, *(dim + 1 for dim in (*pairs[0], *rest, *pairs[1])))
        arranged.append(value.transpose(order).reshape(len(value), *map(prod, sizes)))
        kept.append(sizes[1])
    return [_contracted(table, op, *arranged).reshape((-1, *shape_of(op.results[0])))]


def windows(
    value: Codes, filling: Codes, sizes: Shape, strides: Shape, pads: Sequence[int], dilations: tuple[Shape, Shape]
) -> Iterator[Codes]:
    """Yield, for each position in a window, the elements there of all windows of the last dims of a value."""
    first = value.ndim - len(sizes)
    low, high = [0] * (first - 1) + list(pads[::2]), [0] * (first - 1) + list(pads[1::2])
    interior = [0] * (first - 1) + [each - 1 for each in dilations[0]]
    shape = [
        size + below + above + max(0, size - 1) * inner
        for size, below, above, inner in zip(value.shape[1:], low, high, interior, strict=True)
    ]
    whole = padded(value, filling, tuple(shape), low, interior)
    for place in product(*map(range, sizes)):
        cut = [slice(None)] * first
        for dim, step in enumerate(strides):
            start, span = place[dim] * dilations[1][dim], (sizes[dim] - 1) * dilations[1][dim]
            cut.append(slice(start, whole.shape[first + dim] - span + start, step))
        yield whole[tuple(cut)]


def convolution(table: ElementTable, walk: Walk, op: Operation, codes: Sequence[Codes]) -> list[Codes]:
    """Return the sums of products of the windows and the kernel, in groups of features or of the batch."""
    assert isinstance(op, ConvolutionOp)
    numbers, ones = op.dimension_numbers.data, (1,) * len(op.dimension_numbers.data.input_spatial_dimensions)
    batch, features = number(op, "batch_group_count"), number(op, "feature_group_count")
    dims = (numbers.input_batch_dimension, numbers.input_feature_dimension, *numbers.input_spatial_dimensions)
    value = codes[0].transpose((0, *(dim + 1 for dim in dims)))
    dims = (
        numbers.kernel_output_feature_dimension,
        numbers.kernel_input_feature_dimension,
        *numbers.kernel_spatial_dimensions,
    )
    kernel = codes[1].transpose((0, *(dim + 1 for dim in dims)))
    kernel = np.flip(kernel, tuple(dim + 3 for dim, flag in enumerate(ints(op, "window_reversal")) if flag))
    dilations = ints(op, "lhs_dilation") or ones, ints(op, "rhs_dilation") or ones
    strides, pads = ints(op, "window_strides") or ones, ints(op, "padding") or (0, 0) * len(ones)
    check_work(codes[0].size * prod(kernel.shape[3:]))
    parts = list(windows(value, np.zeros(1, np.int64), kernel.shape[3:], strides, pads, dilations))
    patches = np.stack(parts, -1)  # devices, batch, features, positions, window
    count, size, depth, *positions, _ = patches.shape
    patches = patches.reshape(count, batch, size // batch, features, depth // features, prod(positions), len(parts))
    patches = patches.transpose(0, 1, 3, 2, 5, 4, 6).reshape(
        count, batch * features, size // batch * prod(positions), depth // features * len(parts)
    )
    kernel = kernel.reshape(len(kernel), batch * features, kernel.shape[1] // (batch * features), -1)
    found = _contracted(table, op, patches, kernel)  # devices, group, batch and positions, features
    found = found.reshape(len(found), batch * features, size // batch, *positions, -1)
    found = np.moveaxis(found, 1, -2).reshape(len(found), size // batch, *positions, -1)
    order = (numbers.output_batch_dimension, *numbers.output_spatial_dimensions, numbers.output_feature_dimension)
    return [np.moveaxis(found, range(1, found.ndim), [dim + 1 for dim in order])]


def reduce(table: ElementTable, walk: Walk, op: Operation, codes: Sequence[Codes]) -> list[Codes]:
    """Return what reductions of single values give."""
    dims = [dim + 1 for dim in ints(op, "dimensions")]
    return _reduced(table, walk, op, codes, lambda value, init: _rows(value, dims))


def _rows(value: Codes, dims: Sequence[int]) -> list[Codes]:
    """Return the parts of a value at each position along some dims."""
    return list(np.moveaxis(value, dims, range(len(dims))).reshape(-1, *np.delete(value.shape, dims)))


def reduce_windows(table: ElementTable, walk: Walk, op: Operation, codes: Sequence[Codes]) -> list[Codes]:
    """Return what reductions of windows give; they are padded by the initial value."""
    sizes = ints(op, "window_dimensions")
    ones = (1,) * len(sizes)
    strides, pads = ints(op, "window_strides") or ones, ints(op, "padding") or (0, 0) * len(ones)
    dilations = ints(op, "base_dilations") or ones, ints(op, "window_dilations") or ones
    check_work(max(each.size for each in codes) * prod(sizes))
    return _reduced(
        table, walk, op, codes, lambda value, init: list(windows(value, init, sizes, strides, pads, dilations))
    )


def _reduced(
    table: ElementTable,
    walk: Walk,
    op: Operation,
    codes: Sequence[Codes],
    parts: Callable[[Codes, Codes], Sequence[Codes]],
) -> list[Codes]:
    """Return per value the combination of its initial value and its parts."""
    _, kinds = walk.combined_alone(op.regions[0])
    found: list[Codes] = []
    for position, (kind, result) in enumerate(zip(kinds, op.results, strict=True)):
        value, init = codes[position], codes[len(kinds) + position]
        first = init.reshape((-1, *(1,) * len(shape_of(result))))
        values = np.broadcast_arrays(np.empty((1, *shape_of(result))), first, *parts(value, init))[1:]
        found.append(combined(table, kind, element_of(result), values))
    return found
