"""The share of the scores of attention that a mask of positions leaves, in blocks as flash kernels compute them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod

from xdsl.ir import Operation

from sdy.cost.kernels.value_flow import Step, ValueFlow
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo import elementwise as ops
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.collectives import PartitionIdOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ConstantOp, IotaOp, ReshapeOp, TransposeOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp

BLOCK = 512  # rows and columns of a block of the scores: blocks that the mask empties are skipped
SAMPLES = 211  # points of the scores, spread evenly
Index = tuple[int, ...]
Number = int | float | bool


class UnknownValueError(Exception):
    """A value depends on data."""


def visible_share(flow: ValueFlow, select: Step, scores: frozenset[int]) -> float:
    """Return the share of the blocks in which `select` keeps some scores; 1 if that depends on data."""
    shape = static_shape(flow.types[select.results[0]])
    if shape is None or not shape:
        return 1.0
    is_kept_if_true = select.operands[1] in scores
    seen = 0
    try:
        for number in range(SAMPLES):
            device = number * 7919
            index = tuple(
                int(size * (0.5 + number * step) % size) for size, step in zip(shape, _steps(len(shape)), strict=True)
            )
            corners = product(*(_corners(position, size) for position, size in zip(index, shape, strict=True)))
            seen += any(
                bool(_element(flow, select.operands[0], corner, device)) is is_kept_if_true for corner in corners
            )
    except UnknownValueError:
        return 1.0
    return max(seen, 1) / SAMPLES


def _steps(count: int) -> list[float]:
    """Return steps that spread points evenly over `count` dims (Roberts's R sequence)."""
    root = 2.0
    for _ in range(32):
        root = (1 + root) ** (1 / (count + 1))
    return [root ** -(dim + 1) for dim in range(count)]


def _corners(position: int, size: int) -> Sequence[int]:
    if size < 2 * BLOCK:
        return (position,)
    start = position // BLOCK * BLOCK
    return start, min(start + BLOCK, size) - 1


_BINARY: Mapping[type[Operation], Callable[[Number, Number], Number]] = {
    ops.AddOp: operator.add,
    ops.SubtractOp: operator.sub,
    ops.MultiplyOp: operator.mul,
    ops.DivideOp: lambda a, b: int(a / b) if b else 0,
    ops.RemainderOp: lambda a, b: a - b * int(a / b) if b else 0,
    ops.AndOp: lambda a, b: int(a) & int(b),
    ops.OrOp: lambda a, b: int(a) | int(b),
    ops.MaximumOp: max,
    ops.MinimumOp: min,
}
_COMPARISONS: Mapping[ComparisonDirection, Callable[[Number, Number], bool]] = {
    ComparisonDirection.EQ: operator.eq,
    ComparisonDirection.NE: operator.ne,
    ComparisonDirection.GE: operator.ge,
    ComparisonDirection.GT: operator.gt,
    ComparisonDirection.LE: operator.le,
    ComparisonDirection.LT: operator.lt,
}


def _element(flow: ValueFlow, value: int, index: Index, device: int) -> Number:
    """Return an element on a device of a value that is computed from positions alone.

    Raises: UnknownValueError if it depends on data.
    """
    step = flow.producers.get(value)
    if step is None:
        raise UnknownValueError
    op = step.op

    def read(number: int, at: Index = index) -> Number:
        return _element(flow, step.operands[number], at, device)

    match op:
        case ConstantOp():
            return _constant(op, index)
        case PartitionIdOp():
            return device
        case DynamicSliceOp():
            sizes = static_shape(op.operands[0].type) or ()
            starts = [int(read(dim + 1, ())) % size for dim, size in enumerate(sizes)]
            return read(0, tuple(at + start for at, start in zip(index, starts, strict=True)))
        case IotaOp():
            return index[op.iota_dimension.value.data]
        case BroadcastInDimOp():
            shape = static_shape(op.operand.type) or ()
            dims = op.broadcast_dimensions.get_values()
            return read(0, tuple(index[dim] if size > 1 else 0 for dim, size in zip(dims, shape, strict=True)))
        case TransposeOp():
            order = list(op.permutation.get_values())
            return read(0, tuple(index[order.index(dim)] for dim in range(len(order))))
        case ReshapeOp():
            return read(0, _reshaped(index, static_shape(op.result.type) or (), static_shape(op.operand.type) or ()))
        case ops.ConvertOp():
            return read(0)
        case ops.NotOp():
            return not read(0)
        case ops.CompareOp():
            return _COMPARISONS[op.comparison_direction.data](read(0), read(1))
        case ops.SelectOp():
            return read(1) if read(0, index if static_shape(op.pred.type) else ()) else read(2)
        case _ if type(op) in _BINARY:
            return _BINARY[type(op)](read(0), read(1))
        case _:
            raise UnknownValueError


def _constant(op: ConstantOp, index: Index) -> Number:
    literal = op.value
    if not isinstance(literal, DenseElementsAttr):
        raise UnknownValueError
    values = literal.get_values()
    number = 0
    for position, size in zip(index, static_shape(op.output.type) or (), strict=True):
        number = number * size + position
    value = values[0] if literal.is_splat else values[min(number, len(values) - 1)]
    if not isinstance(value, int | float):
        raise UnknownValueError
    return value


def _reshaped(index: Index, shape: Sequence[int], other: Sequence[int]) -> Index:
    """Return the index in a tensor of another shape of the element at an index."""
    number = 0
    for position, size in zip(index, shape, strict=True):
        number = number * size + position
    found: list[int] = []
    for dim in range(len(other)):
        inner = prod(other[dim + 1 :])
        found.append(number // inner % other[dim])
    return tuple(found)
