"""Ties of constants, iotas, broadcasts and reshapes."""

from __future__ import annotations

from math import prod

from sdy.dialects.chlo.structured import ConstantOp as ChloConstantOp
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import ConstantOp as SdyConstantOp
from sdy.dialects.stablehlo import shape as ops
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
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
