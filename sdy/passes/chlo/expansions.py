"""Expansions of the CHLO ops other than formulas: ops on bits, ops that broadcast, constants and top_k.

An expansion is a function from a recorder and operands of one shape to the results of the recorded ops. An op that
broadcasts its operands becomes `broadcast_in_dim` for each operand that needs it, then the plain op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ComplexType, DenseArrayBase, IntegerAttr, IntegerType, Signedness, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from sdy.dialects.chlo import broadcast, elementwise
from sdy.dialects.chlo import structured as ops
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import elementwise as plain
from sdy.dialects.stablehlo.attributes.enums import (
    ComparisonDirection,
    ComparisonDirectionAttr,
    ComparisonType,
    ComparisonTypeAttr,
)
from sdy.dialects.stablehlo.attributes.types import element_type_of, rank_of, shape_of
from sdy.dialects.stablehlo.control import ReturnOp
from sdy.dialects.stablehlo.elementwise import CompareOp
from sdy.dialects.stablehlo.linalg import SortOp
from sdy.dialects.stablehlo.shape import BitcastConvertOp, BroadcastInDimOp, ConstantOp, IotaOp
from sdy.dialects.stablehlo.slicing import SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.passes.chlo.traced import Recorder, Traced

EXPANSIONS = OpTable[Sequence[SSAValue], [Recorder, Sequence[SSAValue]]]()
WORD = 64
_chosen: Callable[..., Any] = np.where  # on traced tensors, which NumPy's stubs do not cover


@EXPANSIONS.of(elementwise.ConjOp)
def conj(op: elementwise.ChloUnaryOp, recorder: Recorder, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Negate the imaginary part; a real number is its own conjugate."""
    element = element_type_of(op.operand)
    if not isinstance(element, ComplexType):
        return [recorder.value(plain.ConvertOp, operands, op.result.type)]
    part = TensorType(cast("ComplexType[Any]", element).element_type, list(shape_of(op.operand)))
    real = recorder.value(plain.RealOp, operands, part)
    imaginary = recorder.value(plain.ImagOp, operands, part)
    negated = recorder.value(plain.NegateOp, [imaginary], part)
    return [recorder.value(plain.ComplexOp, [real, negated], op.result.type)]


@EXPANSIONS.of(elementwise.NextAfterOp, broadcast.BroadcastNextAfterOp)
def next_after(op: Operation, recorder: Recorder, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Step to the next float: the bits of a float, as an integer, increase with its magnitude."""
    start, goal = (recorder.traced(operand) for operand in operands)
    return [_next_after(start, goal).value]


def _next_after(start: Any, goal: Any) -> Traced:
    element = start.element
    number = IntegerType(element.bitwidth)
    bits = start.recorded(BitcastConvertOp, [start], start.like(number))
    smallest = np.copysign(_from_bits(bits, element, bits.number(1)), goal)
    is_away = (start < goal) == (start > 0.0)
    stepped: Any = _from_bits(bits, element, _chosen(is_away, bits + 1, bits - 1))
    moved: Any = _chosen(start == goal, goal, _chosen(start == 0.0, smallest, stepped))
    return cast("Traced", _chosen(np.isnan(start) | np.isnan(goal), start + goal, moved))


def _from_bits(typed: Any, element: Attribute, bits: Any) -> Any:
    return bits.recorded(BitcastConvertOp, [bits], typed.like(element))


@EXPANSIONS.of(elementwise.MulhiOp)
def mulhi(op: elementwise.MulhiOp, recorder: Recorder, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Return the upper half of the product, computed in a type twice as wide, or from halves if there is none."""
    element = cast("IntegerType", element_type_of(op.result))
    width = element.width.data
    is_unsigned = element.signedness.data is Signedness.UNSIGNED
    if width == WORD:
        high = _high_of_words(recorder, operands, is_unsigned=is_unsigned)
    else:
        wide = IntegerType(WORD, element.signedness.data)
        lhs, rhs = (recorder.traced(operand, wide) for operand in operands)
        shift = plain.ShiftRightLogicalOp if is_unsigned else plain.ShiftRightArithmeticOp
        product = cast("Traced", lhs * rhs)
        high = product.recorded(shift, [product, product.number(width)], product.value.type)
    return [recorder.traced(high.value, element).value]


def _high_of_words(recorder: Recorder, operands: Sequence[SSAValue], *, is_unsigned: bool) -> Traced:
    unsigned = IntegerType(WORD, Signedness.UNSIGNED)
    left, right = (_as(recorder, operand, unsigned) for operand in operands)
    mask = left.number((1 << WORD // 2) - 1)
    low = (left & mask) * (right & mask)
    cross = _upper(left) * (right & mask) + _upper(low)
    other = (left & mask) * _upper(right) + (cross & mask)
    high: Any = _upper(left) * _upper(right) + _upper(cross) + _upper(other)
    if not is_unsigned:
        # Read as unsigned, a negative factor is 2 ** 64 too large, which adds the other factor to the upper half.
        zero = left.number(0)
        is_left_negative, is_right_negative = (cast("Any", recorder.traced(operand)) < 0 for operand in operands)
        high = high - _chosen(is_left_negative, right, zero) - _chosen(is_right_negative, left, zero)
    return high


def _as(recorder: Recorder, value: SSAValue, element: Attribute) -> Any:
    """Reinterpret the bits with another signedness."""
    tensor = TensorType(element, list(shape_of(value)))
    return Traced(recorder, recorder.value(BitcastConvertOp, [value], tensor))


def _upper(words: Any) -> Any:
    half = words.number(WORD // 2)
    return words.recorded(plain.ShiftRightLogicalOp, [words, half], words.value.type)


@EXPANSIONS.of(broadcast.BroadcastCompareOp)
def compare_after_broadcast(
    op: broadcast.BroadcastCompareOp, recorder: Recorder, operands: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """Broadcast the operands and compare them, with StableHLO's own attributes for direction and order."""
    properties: dict[str, Attribute] = {"comparison_direction": ComparisonDirectionAttr(op.comparison_direction.data)}
    if op.compare_type is not None:
        properties["compare_type"] = ComparisonTypeAttr(op.compare_type.data)
    return [recorder.value(plain.CompareOp, operands, op.results[0].type, properties)]


@EXPANSIONS.of(
    *(each for each in broadcast.OPS if broadcast.plain_op(each) and each is not broadcast.BroadcastCompareOp)
)
def after_broadcast(op: Operation, recorder: Recorder, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Broadcast the operands and apply the plain op, with the attributes other than the dims."""
    properties = {name: value for name, value in op.properties.items() if name != "broadcast_dimensions"}
    plain_class = broadcast.plain_op(type(op))
    assert plain_class is not None
    return [recorder.value(plain_class, operands, op.results[0].type, properties)]


def operands_in_one_shape(op: Operation) -> list[SSAValue]:
    """Return the operands of `op`, broadcast to the shape of its result if the op broadcasts."""
    operands = list(operands_of(op))
    if not op.name.startswith("chlo.broadcast_"):
        return operands
    recorder, target = Recorder(op, element_type_of(operands[-1])), shape_of(op.results[0])
    given = op.properties.get("broadcast_dimensions")
    return [_broadcast(recorder, operand, target, given) for operand in operands]


def _broadcast(recorder: Recorder, operand: SSAValue, target: Sequence[int], given: Attribute | None) -> SSAValue:
    rank = rank_of(operand)
    if tuple(shape_of(operand)) == tuple(target):
        return operand
    # Dims are matched from the last one, unless the op lists the dims of the smaller operand.
    dims = ints_of(given) if given is not None and rank < len(target) else range(len(target) - rank, len(target))
    properties = {"broadcast_dimensions": DenseArrayBase.from_list(i64, list(dims))}
    return recorder.value(
        BroadcastInDimOp, [operand], TensorType(element_type_of(operand), list(target)), {**properties}
    )


@EXPANSIONS.of(ops.ConstantOp)
def constant(op: ops.ConstantOp, recorder: Recorder, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Replace by `stablehlo.constant`."""
    return [recorder.value(ConstantOp, [], op.results[0].type, {"value": op.value})]


@EXPANSIONS.of(ops.ConstantLikeOp)
def constant_like(op: ops.ConstantLikeOp, recorder: Recorder, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Replace by a constant of the operand's shape."""
    tensor = TensorType(element_type_of(op.result), list(shape_of(op.result)))
    return [recorder.constant(tensor, op.value.value.data)]


@EXPANSIONS.of(ops.TopKOp)
def top_k(op: ops.TopKOp, recorder: Recorder, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Sort all elements with their indices in descending order, and slice the first k; NaN is the largest."""
    last = len(shape_of(op.operand)) - 1
    places_type = TensorType(element_type_of(op.indices), list(shape_of(op.operand)))
    indices = recorder.value(IotaOp, [], places_type, {"iota_dimension": IntegerAttr(last, i64)})
    element = element_type_of(op.operand)
    properties: dict[str, Attribute] = {"dimension": IntegerAttr(last, i64), "is_stable": IntegerAttr(1, i1)}
    types = [op.operand.type, places_type]
    comparator = _larger_first(element, element_type_of(op.indices))
    ordered = recorder.op(SortOp, [*operands, indices], types, properties, [comparator])
    return [
        recorder.value(SliceOp, [value], result.type, _first(shape_of(result)))
        for value, result in zip(ordered.results, op.results, strict=True)
    ]


def _first(sizes: Sequence[int]) -> dict[str, Attribute]:
    """Return the properties of a slice that starts at 0 in each dim."""
    return {
        "start_indices": DenseArrayBase.from_list(i64, [0] * len(sizes)),
        "limit_indices": DenseArrayBase.from_list(i64, list(sizes)),
        "strides": DenseArrayBase.from_list(i64, [1] * len(sizes)),
    }


def _larger_first(element: Attribute, index_type: Attribute) -> Region:
    scalar, number = TensorType(element, []), TensorType(index_type, [])
    block = Block(arg_types=[scalar, scalar, number, number])
    properties: dict[str, Attribute] = {"comparison_direction": ComparisonDirectionAttr(ComparisonDirection.GT)}
    if not isinstance(element, IntegerType):
        properties["compare_type"] = ComparisonTypeAttr(ComparisonType.TOTALORDER)
    compare = CompareOp.create(operands=block.args[:2], result_types=[TensorType(i1, [])], properties=properties)
    block.add_ops([compare, ReturnOp.create(operands=compare.results)])
    return Region(block)
