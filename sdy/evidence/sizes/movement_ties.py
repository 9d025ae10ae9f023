"""Ties of ops that move data: broadcasts, reshapes, slices, pads, concatenations, constants and iotas."""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation, SSAValue

from sdy.dialects.chlo.structured import ConstantOp as ChloConstantOp
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import ConstantOp as SdyConstantOp
from sdy.dialects.stablehlo import shape as ops
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.elementwise import ConvertOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, DynamicSliceOp, DynamicUpdateSliceOp, PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.evidence.sizes.devices import Table
from sdy.evidence.sizes.size_classes import Variable
from sdy.evidence.sizes.ties import Ties

TABLE = OpTable[None, [Ties]]()
Shape = tuple[int, ...]


@TABLE.of(ops.ConstantOp, SdyConstantOp, ChloConstantOp)
def _constant(op: ops.ConstantOp | SdyConstantOp | ChloConstantOp, ties: Ties) -> None:
    is_splat = bool(getattr(op.value, "is_splat", False))
    ties.of(op.results[0])
    if op in ties.mesh.tables:
        count = ties.classes.constant(ties.mesh.before, ties.mesh.after)
        ties.tie(ties.of(op.results[0])[0], count)
        ties.values.table(op)
    elif not is_splat:
        ties.lock(op.results[0], "a constant has different elements along it")
        ties.values.table(op)


@TABLE.of(ops.IotaOp)
def _iota(op: ops.IotaOp, ties: Ties) -> None:
    ties.values.position(op.output, ties.of(op.output)[op.iota_dimension.value.data])


@TABLE.of(ops.BroadcastOp)
def _broadcast(op: ops.BroadcastOp, ties: Ties) -> None:
    result = ties.of(op.result)
    count = len(ints_of(op.broadcast_sizes))
    for index in range(count):
        ties.tie(ties.attribute(op, "broadcast_sizes", index), result[index])
    for one, other in zip(ties.of(op.operand), result[count:], strict=True):
        ties.tie(one, other)
    ties.values.same(op.operand, op.result)


@TABLE.of(ops.ReshapeOp)
def _reshape(op: ops.ReshapeOp, ties: Ties) -> None:
    """Tie the dims that are split or merged; a group of several dims on both sides keeps its sizes."""
    operand, result = ties.of(op.operand), ties.of(op.result)
    groups = reshape_groups(shape_of(op.operand), shape_of(op.result))
    if groups is None:
        ties.lock_all(op)
        return
    for ones, others in groups:
        left, right = [operand[dim] for dim in ones], [result[dim] for dim in others]
        if len(left) > 1 and len(right) > 1:
            for each in (*left, *right):
                ties.classes.lock(each, "a reshape regroups it with other dims")
        if len(left) == 1 or len(right) == 1:
            ties.splits.append((left[0], right) if len(left) == 1 else (right[0], left))
        ties.classes.tie_product(left, right)
    ties.values.same(op.operand, op.result)


def reshape_groups(operand: Shape, result: Shape) -> list[tuple[list[int], list[int]]] | None:
    """Return the smallest groups of dims of equal products, without dims of size 1; None for empty tensors.

    >>> reshape_groups((2, 12), (2, 3, 4))
    [([0], [0]), ([1], [1, 2])]
    """
    if prod(operand) != prod(result) or 0 in operand:
        return None
    ones = [dim for dim, size in enumerate(operand) if size != 1]
    others = [dim for dim, size in enumerate(result) if size != 1]
    groups: list[tuple[list[int], list[int]]] = []
    while ones or others:
        left, right = [ones.pop(0)], [others.pop(0)]
        while (one := prod(operand[dim] for dim in left)) != (other := prod(result[dim] for dim in right)):
            (left if one < other else right).append((ones if one < other else others).pop(0))
        groups.append((left, right))
    return groups


@TABLE.of(ops.BitcastConvertOp)
def _bitcast_convert(op: ops.BitcastConvertOp, ties: Ties) -> None:
    for one, other in zip(ties.of(op.operand), ties.of(op.result), strict=False):
        ties.tie(one, other)
    longer = max(op.operand, op.result, key=lambda value: len(shape_of(value)))
    if len(shape_of(op.operand)) != len(shape_of(op.result)):
        ties.lock(longer, "a bitcast splits elements along it", (len(shape_of(longer)) - 1,))


@TABLE.of(ops.GetDimensionSizeOp)
def _get_dimension_size(op: ops.GetDimensionSizeOp, ties: Ties) -> None:
    ties.values.position(op.result, ties.of(op.operand)[op.dimension.value.data])


@TABLE.of(SliceOp)
def _slice(op: SliceOp, ties: Ties) -> None:
    operand, result = ties.of(op.operand), ties.of(op.result)
    starts, limits, strides = map(ints_of, (op.start_indices, op.limit_indices, op.strides))
    for dim, (one, other) in enumerate(zip(operand, result, strict=True)):
        start, limit = (ties.attribute(op, name, dim, one, other) for name in ("start_indices", "limit_indices"))
        if limits[dim] == ties.classes.sizes[one]:
            ties.tie(limit, one)
        else:
            ties.classes.order(limit, one)
        if (starts[dim], strides[dim]) == (0, 1):
            ties.tie(limit, other)
        else:
            rest = limits[dim] - starts[dim] - strides[dim] * ties.classes.sizes[other]
            ties.classes.tie_sum(((1, limit), (-1, start), (-strides[dim], other)), rest)
        if isinstance(op.operand.owner, DynamicUpdateSliceOp):
            _tie_margins(ties, ties.of(op.operand.owner.update)[dim], start)
    ties.values.same(op.operand, op.result)


@TABLE.of(PadOp)
def _pad(op: PadOp, ties: Ties) -> None:
    operand, result, interior = ties.of(op.operand), ties.of(op.result), ints_of(op.interior_padding)
    for dim, (one, other) in enumerate(zip(operand, result, strict=True)):
        low, high = (ties.attribute(op, name, dim, one, other) for name in ("edge_padding_low", "edge_padding_high"))
        inside = interior[dim] if ties.classes.sizes[one] else 0
        ties.classes.tie_sum(((1, low), (1, high), (1 + inside, one), (-1, other)), inside)
    ties.values.same(op.operand, op.result, op.padding_value)


@TABLE.of(ConcatenateOp)
def _concatenate(op: ConcatenateOp, ties: Ties) -> None:
    dim, result = op.dimension.value.data, ties.of(op.result)
    ties.same_dims(op.result, *op.inputs, but=(dim,))
    ties.classes.tie_sum(((-1, result[dim]), *((1, ties.of(each)[dim]) for each in op.inputs)), 0)
    ties.values.same(op.result, *op.inputs)


@TABLE.of(DynamicSliceOp)
def _dynamic_slice(op: DynamicSliceOp, ties: Ties) -> None:
    operand, result = ties.of(op.operand), ties.of(op.result)
    for dim, start in enumerate(op.start_indices):
        ties.tie(ties.attribute(op, "slice_sizes", dim), result[dim])
        tie_window(ties, result[dim], operand[dim], start)
    ties.values.same(op.operand, op.result)


@TABLE.of(DynamicUpdateSliceOp)
def _dynamic_update_slice(op: DynamicUpdateSliceOp, ties: Ties) -> None:
    ties.same_dims(op.operand, op.result)
    for window, whole, start in zip(ties.of(op.update), ties.of(op.operand), op.start_indices, strict=True):
        tie_window(ties, window, whole, start)
    pad = op.operand.owner
    if isinstance(pad, PadOp):
        for dim, window in enumerate(ties.of(op.update)):
            names = ("edge_padding_low", "edge_padding_high")
            _tie_margins(ties, window, *(ties.attribute(pad, name, dim) for name in names))
    ties.values.same(op.operand, op.update, op.result)


def _tie_margins(ties: Ties, window: Variable, *margins: Variable) -> None:
    """Tie the margins of a shard that are as long as an update, which may lie in them instead of in the shard."""
    for margin in margins:
        if ties.classes.sizes[margin] == ties.classes.sizes[window]:
            ties.tie(margin, window)


def tie_window(ties: Ties, window: Variable, whole: Variable, start: SSAValue) -> None:
    """Tie the sizes of a window and of the dim in which it starts at `start`, which is a position along both.

    The dim stays the same multiple of the window.
    """
    sizes = ties.classes.sizes
    if sizes[window] == sizes[whole]:
        ties.tie(window, whole)
    elif (table := _table_of(ties, start)) is not None and table.before * sizes[window] == sizes[whole]:
        ties.tie_ratio(window, whole, table.after)
    elif sizes[window] > 1 and sizes[whole] % sizes[window] == 0:
        ties.tie_ratio(window, whole)
    else:
        ties.classes.order(window, whole)
    ties.values.position(start, window, whole)


def _table_of(ties: Ties, start: SSAValue) -> Table | None:
    """Return the table in which a device looks up the start of a window."""
    op = start.owner
    while isinstance(op, ops.ReshapeOp | ConvertOp | DynamicSliceOp):
        op = op.operands[0].owner
    return ties.mesh.tables.get(op) if isinstance(op, Operation) else None
