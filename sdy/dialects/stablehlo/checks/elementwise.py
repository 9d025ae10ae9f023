"""Checks of elementwise ops."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import AnyFloat, ComplexType, f32, f64, i1
from xdsl.ir import Attribute, Operation

from sdy.dialects.stablehlo.attributes.attrs import ResultAccuracyAttr
from sdy.dialects.stablehlo.attributes.enums import ResultAccuracyMode
from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    have_compatible_quantizations,
    name_of,
    require_element_type,
    require_same_element_type,
    require_same_shape,
    require_same_type,
    shape,
    tensor,
)


def check_all_same_type(op: Operation) -> None:
    """Check that all operands and results have the same type; quantized ones may differ in scales and zero points."""
    first, *others = (*op.operands, *op.results)
    for other in others:
        if not have_compatible_quantizations(tensor(op, first).element_type, tensor(op, other).element_type):
            require_same_element_type(op, (first, other))
        require_same_shape(op, (first, other))


def check_all_same_shape(op: Operation) -> None:
    """Check that all operands and results have the same shape; element types may differ."""
    require_same_shape(op, (*op.operands, *op.results))


def check_result_accuracy(op: Operation) -> None:
    """Check that tolerances are not negative, and that only the mode TOLERANCE has them."""
    attr = op.properties.get("result_accuracy")
    if not isinstance(attr, ResultAccuracyAttr):
        return
    accuracy = attr.data
    tolerances = (accuracy.atol, accuracy.rtol, accuracy.ulps)
    if min(tolerances) < 0:
        fail(op, "SDY-D016", f"tolerances of result_accuracy must not be negative, got {tolerances}")
    if accuracy.mode is not ResultAccuracyMode.TOLERANCE and any(tolerances):
        fail(op, "SDY-D016", f"tolerances of result_accuracy must be 0 in mode {accuracy.mode.value}, got {tolerances}")


def check_operands_same_type(op: Operation) -> None:
    """Check that all operands have the same type."""
    require_same_type(op, op.operands)


def check_boolean_result(op: Operation) -> None:
    """Check that the result has the shape of the operands and element type i1."""
    check_all_same_shape(op)
    require_element_type(op, op.results[0], i1, "the result holds booleans")


def check_real_result(op: Operation) -> None:
    """Check that the result has the element type of the operand, or of its real part if that is complex."""
    check_all_same_shape(op)
    element = tensor(op, op.operands[0]).element_type
    if isinstance(element, ComplexType):
        element = cast(Attribute, element.element_type)
    require_element_type(op, op.results[0], element, "inferred from the operand")


def check_complex(op: Operation) -> None:
    """Check that the result is complex and that its parts have the element type of the operands, f32 or f64."""
    check_operands_same_type(op)
    check_all_same_shape(op)
    element = tensor(op, op.results[0]).element_type
    real = tensor(op, op.operands[0]).element_type
    if isinstance(real, AnyFloat) and real not in (f32, f64):
        fail(op, "SDY-D017", f"{name_of(op, op.operands[0])} must have elements of type f32 or f64")
    if not isinstance(element, ComplexType) or cast(Attribute, element.element_type) != real:
        fail(op, "SDY-D012", f"{name_of(op, op.results[0])} must have element type complex<{real}>")


def check_select(op: Operation) -> None:
    """Check that the predicate is one boolean or one per element, and that branches have the result type."""
    pred, on_true, on_false = op.operands
    require_same_type(op, (on_true, on_false, op.results[0]))
    require_element_type(op, pred, i1, "a predicate holds booleans")
    if shape(op, pred):
        require_same_shape(op, (pred, on_true))


def check_clamp(op: Operation) -> None:
    """Check that the bounds are scalars or have the shape of the operand."""
    low, operand, high = op.operands
    require_same_type(op, (operand, op.results[0]))
    require_same_element_type(op, (operand, low, high))
    for bound in (low, high):
        if shape(op, bound):
            require_same_shape(op, (operand, bound))
