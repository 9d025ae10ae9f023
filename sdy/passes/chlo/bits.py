"""CHLO ops on the bits of elements: next_after, mulhi, conj."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ComplexType, IntegerType, Signedness, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from sdy.dialects.chlo import broadcast, elementwise
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import elementwise as plain
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.shape import BitcastConvertOp
from sdy.passes.chlo.expansion import Expansion
from sdy.passes.chlo.traced import Recorder, Traced

EXPANSIONS = OpTable[Expansion]()
WORD = 64
_chosen: Callable[..., Any] = np.where  # on traced tensors, which NumPy's stubs do not cover


@EXPANSIONS.of(elementwise.ConjOp)
def conj(op: elementwise.ConjOp) -> Expansion:
    """Negate the imaginary part; a real number is its own conjugate."""

    def expand(recorder: Recorder, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        element = element_type_of(op.operand)
        if not isinstance(element, ComplexType):
            return [recorder.value(plain.ConvertOp, operands, op.result.type)]
        part = TensorType(cast("ComplexType[Any]", element).element_type, list(shape_of(op.operand)))
        real = recorder.value(plain.RealOp, operands, part)
        imaginary = recorder.value(plain.ImagOp, operands, part)
        negated = recorder.value(plain.NegateOp, [imaginary], part)
        return [recorder.value(plain.ComplexOp, [real, negated], op.result.type)]

    return expand


@EXPANSIONS.of(elementwise.NextAfterOp, broadcast.BroadcastNextAfterOp)
def next_after(op: Operation) -> Expansion:
    """Step to the next float: the bits of a float, as an integer, increase with its magnitude."""

    def expand(recorder: Recorder, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        start, goal = (recorder.traced(operand) for operand in operands)
        return [_next_after(start, goal).value]

    return expand


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
def mulhi(op: elementwise.MulhiOp) -> Expansion:
    """Return the upper half of the product, computed in a type twice as wide, or from halves if there is none."""

    def expand(recorder: Recorder, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
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

    return expand


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
