"""Types of elementwise ops."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ComplexType, i1
from xdsl.ir import Attribute, Operation

from sdy.dialects.stablehlo.attributes.attrs import ResultAccuracyAttr
from sdy.dialects.stablehlo.attributes.enums import ResultAccuracyMode
from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    name_of,
    require_element_type,
    require_same_element_type,
    require_same_shape,
    require_same_type,
    shape,
    tensor,
)


def check_all_same_type(op: Operation) -> None:
    """All operands and results have the same type."""
    require_same_type(op, (*op.operands, *op.results))


def check_all_same_shape(op: Operation) -> None:
    """All operands and results have the same shape; element types may differ."""
    require_same_shape(op, (*op.operands, *op.results))


def check_result_accuracy(op: Operation) -> None:
    """Tolerances are not negative, and stand only in the mode that has them."""
    promise = op.properties.get("result_accuracy")
    if not isinstance(promise, ResultAccuracyAttr):
        return
    accuracy = promise.data
    tolerances = (accuracy.atol, accuracy.rtol, accuracy.ulps)
    if min(tolerances) < 0:
        fail(op, "SDY-D016", f"a tolerance of result_accuracy is negative: {tolerances}")
    if accuracy.mode is not ResultAccuracyMode.TOLERANCE and any(tolerances):
        fail(op, "SDY-D016", f"mode {accuracy.mode.value} has no tolerances, result_accuracy gives {tolerances}")


def check_operands_same_type(op: Operation) -> None:
    """All operands have the same type."""
    require_same_type(op, op.operands)


def check_boolean_result(op: Operation) -> None:
    """The result has the shape of the operands, and elements of one bit."""
    check_all_same_shape(op)
    require_element_type(op, op.results[0], i1, "each is true or false")


def check_real_result(op: Operation) -> None:
    """The result has the element type of the operand, or of its real part where that is complex."""
    check_all_same_shape(op)
    element = tensor(op, op.operands[0]).element_type
    if isinstance(element, ComplexType):
        element = cast(Attribute, element.element_type)
    require_element_type(op, op.results[0], element, "the operand gives it")


def check_complex(op: Operation) -> None:
    """The elements of the result are complex numbers of the elements of the operands."""
    check_operands_same_type(op)
    check_all_same_shape(op)
    element = tensor(op, op.results[0]).element_type
    part = tensor(op, op.operands[0]).element_type
    if not isinstance(element, ComplexType) or cast(Attribute, element.element_type) != part:
        fail(op, "SDY-D012", f"{name_of(op, op.results[0])} should have elements of type complex<{part}>")


def check_select(op: Operation) -> None:
    """`select`: the predicate is one boolean, or one per element; both branches have the type of the result."""
    pred, on_true, on_false = op.operands
    require_same_type(op, (on_true, on_false, op.results[0]))
    require_element_type(op, pred, i1, "it chooses")
    if shape(op, pred):
        require_same_shape(op, (pred, on_true))


def check_clamp(op: Operation) -> None:
    """`clamp`: the bounds are single values, or have the shape of the operand."""
    low, operand, high = op.operands
    require_same_type(op, (operand, op.results[0]))
    require_same_element_type(op, (operand, low, high))
    for bound in (low, high):
        if shape(op, bound):
            require_same_shape(op, (operand, bound))
