"""Whether a tensor of indices holds, at each place, the position of that place along one of its dims.

`stablehlo.iota` does, and so does what reshapes and broadcasts make of it, what clamps it to a range that it is within,
and the select that would add the size to negative indices, of which there are none.
Source: docs/spec/04, 2.5; stricter than Shardy, which takes any reshape, clamp and select for the identity.
"""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType
from xdsl.ir import Attribute, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.sdy.ops import ConstantOp as SdyConstantOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.elementwise import ClampOp, CompareOp, SelectOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ConstantOp, IotaOp, ReshapeOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of


def position_dim(value: SSAValue) -> int | None:
    """The dim along which `value[i]` is `i`, at every place; None where it is not known to have one."""
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
            return position_dim(op.on_false) if _asks_for_negative(op.pred, op.on_false) else None
        case _:
            return None


def _after_broadcast(op: BroadcastInDimOp, dim: int | None) -> int | None:
    if dim is None:
        return None
    target = ints_of(op.broadcast_dimensions)[dim]
    return target if _shape(op.operand)[dim] == _shape(op.result)[target] else None


def _after_reshape(op: ReshapeOp, dim: int | None) -> int | None:
    """The dim of equal size with as many elements behind it: the reshape leaves such a dim alone."""
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


def _asks_for_negative(predicate: SSAValue, position: SSAValue) -> bool:
    """Whether it is `position < 0`, or less than some negative number: never the case."""
    op = predicate.owner
    if not isinstance(op, CompareOp) or op.comparison_direction.data is not ComparisonDirection.LT:
        return False
    limit = _common_value(op.rhs)
    return op.lhs is position and limit is not None and limit <= 0


def _common_value(value: SSAValue) -> int | None:
    """The integer that all elements are, where they are constant."""
    op = value.owner
    while isinstance(op, BroadcastInDimOp | ReshapeOp):
        op = op.operand.owner
    if not isinstance(op, ConstantOp | SdyConstantOp) or not isinstance(op.value, DenseElementsAttr):
        return None
    first = op.value.get_values()[:1] if op.value.is_splat else ()
    return first[0] if first and isinstance(first[0], int) else None


def _can_count_to(value_type: Attribute, last: int) -> bool:
    """Whether the element type holds integers up to `last`: a narrower iota wraps around."""
    if not isinstance(value_type, TensorType):
        return False
    element = cast("TensorType[Attribute]", value_type).get_element_type()
    if not isinstance(element, IntegerType):
        return False
    is_unsigned = element.signedness.data is Signedness.UNSIGNED
    return last < 1 << (element.bitwidth if is_unsigned else element.bitwidth - 1)


def _shape(value: SSAValue) -> tuple[int, ...]:
    """Sizes; those of a dim that is not static do not matter, for nothing then has a position."""
    return static_shape(value.type) or ()
