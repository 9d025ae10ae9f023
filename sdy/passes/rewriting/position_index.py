"""Analysis of whether each element of an index tensor is its own position along some dim.

This holds for `stablehlo.iota`, for its reshapes and broadcasts, for a clamp to a range that it is within, and for a
select that adds the size to negative indices, since there are none. The analysis is stricter than Shardy, which treats
any reshape, clamp and select as the identity. Source: docs/spec/04, 2.5.
"""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType
from xdsl.ir import Attribute, SSAValue

from sdy.dialects.sharded_types import static_shape
from sdy.dialects.splats import splat_of
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.elementwise import ClampOp, CompareOp, SelectOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, IotaOp, ReshapeOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of


def position_dim(value: SSAValue) -> int | None:
    """Return the dim along which every `value[i]` is `i`; None if no dim is known to be one."""
    match value.owner:
        case IotaOp() as op:
            dim = op.iota_dimension.value.data
            return dim if _can_count_to(op.output.type, _shape(value)[dim] - 1) else None
        case BroadcastInDimOp() as op:
            return _after_broadcast(op, position_dim(op.operand))
        case ReshapeOp() as op:
            return _after_reshape(op, position_dim(op.operand))
        case ClampOp() as op:
            dim = position_dim(op.operand)
            return dim if dim is not None and _is_within(op, _shape(value)[dim]) else None
        case SelectOp() as op:
            return position_dim(op.on_false) if _is_negative_check(op.pred, op.on_false) else None
        case _:
            return None


def _after_broadcast(op: BroadcastInDimOp, dim: int | None) -> int | None:
    if dim is None:
        return None
    target = ints_of(op.broadcast_dimensions)[dim]
    return target if _shape(op.operand)[dim] == _shape(op.result)[target] else None


def _after_reshape(op: ReshapeOp, dim: int | None) -> int | None:
    """Return the dim of equal size with as many elements minor to it, which the reshape preserves."""
    if dim is None:
        return None
    before, after = _shape(op.operand), _shape(op.result)
    for target, size in enumerate(after):
        if size == before[dim] and prod(after[target + 1 :]) == prod(before[dim + 1 :]):
            return target
    return None


def _is_within(op: ClampOp, size: int) -> bool:
    low, high = _common_value(op.min), _common_value(op.max)
    return low is not None and high is not None and low <= 0 and high >= size - 1


def _is_negative_check(predicate: SSAValue, position: SSAValue) -> bool:
    """Return whether the predicate is `position < c` with `c <= 0`, which is always false."""
    op = predicate.owner
    if not isinstance(op, CompareOp) or op.comparison_direction.data is not ComparisonDirection.LT:
        return False
    limit = _common_value(op.rhs)
    return op.lhs is position and limit is not None and limit <= 0


def _common_value(value: SSAValue) -> int | None:
    """Return the integer that all elements are equal to; None if they are not constant, or differ."""
    found = splat_of(value)
    first = () if found is None else found.get_values()[:1]
    return first[0] if first and isinstance(first[0], int) else None


def _can_count_to(value_type: Attribute, last: int) -> bool:
    """Return whether the element type can represent integers up to `last`: a narrower iota would wrap around."""
    if not isinstance(value_type, TensorType):
        return False
    element = cast("TensorType[Attribute]", value_type).get_element_type()
    if not isinstance(element, IntegerType):
        return False
    is_unsigned = element.signedness.data is Signedness.UNSIGNED
    return last < 1 << (element.bitwidth if is_unsigned else element.bitwidth - 1)


def _shape(value: SSAValue) -> tuple[int, ...]:
    """Return the shape, or an empty one if it is not static: then the value has no position dim."""
    return static_shape(value.type) or ()
