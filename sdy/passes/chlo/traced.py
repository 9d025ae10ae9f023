"""Traced tensors: NumPy functions applied to them insert StableHLO ops.

A formula is a function of arrays. Applied to traced tensors it computes nothing; each NumPy function that it calls
inserts an op before the op being expanded. So an interpreter kernel and the expansion of its op share one formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from xdsl.dialects.builtin import ComplexType, FixedBitwidthType, IntegerType, TensorType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import Scalar
from sdy.dialects.ir.fast_ops import OpInserter, Properties
from sdy.dialects.stablehlo import elementwise as ops
from sdy.dialects.stablehlo.attributes.enums import (
    ComparisonDirection,
    ComparisonDirectionAttr,
    ComparisonType,
    ComparisonTypeAttr,
)
from sdy.dialects.stablehlo.attributes.types import AnyTensor, element_type_of, shape_of
from sdy.dialects.stablehlo.shape import BitcastConvertOp, ConstantOp

# The ops that NumPy's functions are recorded as.
SAME_TYPE: dict[object, type[Operation]] = {
    np.absolute: ops.AbsOp,
    np.add: ops.AddOp,
    np.arctan2: ops.Atan2Op,
    np.bitwise_and: ops.AndOp,
    np.bitwise_or: ops.OrOp,
    np.cos: ops.CosineOp,
    np.divide: ops.DivideOp,
    np.exp: ops.ExponentialOp,
    np.expm1: ops.ExponentialMinusOneOp,
    np.floor: ops.FloorOp,
    np.fmod: ops.RemainderOp,
    np.invert: ops.NotOp,
    np.log: ops.LogOp,
    np.log1p: ops.LogPlusOneOp,
    np.maximum: ops.MaximumOp,
    np.minimum: ops.MinimumOp,
    np.multiply: ops.MultiplyOp,
    np.negative: ops.NegateOp,
    np.power: ops.PowerOp,
    np.rint: ops.RoundNearestEvenOp,
    np.sin: ops.SineOp,
    np.sqrt: ops.SqrtOp,
    np.subtract: ops.SubtractOp,
    np.tan: ops.TanOp,
}
COMPARISONS: dict[object, ComparisonDirection] = {
    np.equal: ComparisonDirection.EQ,
    np.not_equal: ComparisonDirection.NE,
    np.less: ComparisonDirection.LT,
    np.less_equal: ComparisonDirection.LE,
    np.greater: ComparisonDirection.GT,
    np.greater_equal: ComparisonDirection.GE,
}


class Recorder(OpInserter):
    """Inserts ops before one op, with its location. `element` is the element type of the formula."""

    def __init__(self, before: Operation, element: Attribute) -> None:
        super().__init__(before)
        self.element = element
        self._constants: dict[tuple[Attribute, Scalar], SSAValue] = {}

    def constant(self, tensor: AnyTensor, value: Scalar) -> SSAValue:
        """Return a constant tensor filled with one value; equal constants are recorded once."""
        key = tensor, value
        if key not in self._constants:
            elements = DenseElementsAttr.from_values(tensor, [value])
            self._constants[key] = self.value(ConstantOp, [], tensor, {"value": elements})
        return self._constants[key]

    def traced(self, value: SSAValue, element: Attribute | None = None) -> Traced:
        """Return a traced tensor for a value, converted to `element` if given."""
        if element is not None and element != element_type_of(value):
            value = self.value(ops.ConvertOp, [value], TensorType(element, list(shape_of(value))))
        return Traced(self, value)


class Traced(NDArrayOperatorsMixin):
    """A tensor to which formulas are applied."""

    def __init__(self, recorder: Recorder, value: SSAValue) -> None:
        self.recorder = recorder
        self.value = value

    @property
    def element(self) -> Attribute:
        """The element type."""
        return element_type_of(self.value)

    def like(self, element: Attribute) -> AnyTensor:
        """Return the tensor type of this shape with another element type."""
        return TensorType(element, list(shape_of(self.value)))

    def copy(self) -> Traced:
        """Return the tensor itself, which is immutable."""
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object) -> Traced:
        own = OWN.get(ufunc)
        if own is not None:
            return own(self, *inputs)
        if ufunc in COMPARISONS:
            return self.compared(COMPARISONS[ufunc], *inputs)
        operands = [self.lifted(each) for each in inputs]
        return self.recorded(SAME_TYPE[ufunc], operands, operands[0].value.type)

    def __array_function__(
        self, function: Callable[..., object], types: object, inputs: Sequence[object], options: object
    ) -> object:
        return FUNCTIONS[function](self, *inputs)

    def lifted(self, operand: object) -> Traced:
        """Return a traced operand unchanged, and a number as a tensor like this one."""
        if isinstance(operand, Traced):
            return operand
        is_number = self.element != i1 or isinstance(operand, bool | np.bool_)
        assert is_number
        return self.number(cast("complex", operand))

    def number(self, number: complex) -> Traced:
        """Return a tensor like this one filled with a Python or NumPy number."""
        value: Scalar = complex(number)
        element = self.element
        if isinstance(element, IntegerType):
            value = int(value.real)
        elif not isinstance(element, ComplexType):
            value = value.real
        return Traced(self.recorder, self.recorder.constant(self.like(self.element), value))

    def recorded(
        self,
        op_class: type[Operation],
        operands: Sequence[Traced],
        result_type: Attribute,
        properties: Properties | None = None,
    ) -> Traced:
        """Record an op and return its result."""
        values = [operand.value for operand in operands]
        return Traced(self.recorder, self.recorder.value(op_class, values, result_type, properties))

    def compared(self, direction: ComparisonDirection, lhs: object, rhs: object) -> Traced:
        """Compare lhs with rhs."""
        typed = next(each for each in (lhs, rhs) if isinstance(each, Traced))
        operands = [typed.lifted(lhs), typed.lifted(rhs)]
        properties: Properties = {"comparison_direction": ComparisonDirectionAttr(direction)}
        if not isinstance(typed.element, IntegerType):
            properties["compare_type"] = ComparisonTypeAttr(ComparisonType.FLOAT)
        return self.recorded(ops.CompareOp, operands, typed.like(i1), properties)

    def has_sign(self) -> Traced:
        """Return whether the sign bit is set, for -0 and NaN too."""
        bits = IntegerType(cast("FixedBitwidthType", self.element).bitwidth)
        as_bits = self.recorded(BitcastConvertOp, [self], self.like(bits))
        return as_bits.compared(ComparisonDirection.LT, as_bits, 0)


def _with_sign(_: Traced, magnitude: object, sign: Traced) -> Traced:
    given = sign.lifted(magnitude)
    size = given.recorded(ops.AbsOp, [given], given.value.type)
    negative = size.recorded(ops.NegateOp, [size], size.value.type)
    return _chosen(sign, sign.has_sign(), negative, size)


def _is_nan(_: Traced, operand: Traced) -> Traced:
    return operand.compared(ComparisonDirection.NE, operand, operand)


def _is_infinite(_: Traced, operand: Traced) -> Traced:
    size = operand.recorded(ops.AbsOp, [operand], operand.value.type)
    return size.compared(ComparisonDirection.EQ, size, np.inf)


def _is_finite(_: Traced, operand: Traced) -> Traced:
    return operand.recorded(ops.IsFiniteOp, [operand], operand.like(i1))


OWN: dict[object, Callable[..., Traced]] = {
    np.copysign: _with_sign,
    np.isnan: _is_nan,
    np.isinf: _is_infinite,
    np.isfinite: _is_finite,
}


def _chosen(_: Traced, condition: Traced, on_true: object, on_false: object) -> Traced:
    typed = next((each for each in (on_true, on_false) if isinstance(each, Traced)), None)
    if typed is None:
        recorder = condition.recorder
        typed = Traced(recorder, recorder.constant(condition.like(recorder.element), 0.0))
    branches = [typed.lifted(on_true), typed.lifted(on_false)]
    return typed.recorded(ops.SelectOp, [condition, *branches], branches[0].value.type)


def _ones(_: Traced, operand: Traced) -> Traced:
    return operand.number(1.0)


def _zeros(_: Traced, operand: Traced) -> Traced:
    return operand.number(0.0)


def _in_one_shape(_: Traced, *operands: Traced) -> tuple[Traced, ...]:
    return operands  # operands of one op have one shape


FUNCTIONS: dict[object, Callable[..., object]] = {
    np.where: _chosen,
    np.ones_like: _ones,
    np.zeros_like: _zeros,
    np.broadcast_arrays: _in_one_shape,
}
