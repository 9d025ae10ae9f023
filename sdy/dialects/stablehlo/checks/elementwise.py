"""Types of elementwise ops."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ComplexType, i1
from xdsl.ir import Attribute, Operation

from sdy.dialects.stablehlo.attributes.attrs import ResultAccuracyAttr
from sdy.dialects.stablehlo.attributes.enums import ResultAccuracyMode
from sdy.dialects.stablehlo.checks.demands import (
    demand_element,
    demand_same_element,
    demand_same_shape,
    demand_same_type,
    fail,
    name_of,
    shape,
    tensor,
)


def all_alike(op: Operation) -> None:
    """All operands and results have the same type."""
    demand_same_type(op, (*op.operands, *op.results))


def same_shape(op: Operation) -> None:
    """All operands and results have the same shape; element types may differ."""
    demand_same_shape(op, (*op.operands, *op.results))


def is_accurate(op: Operation) -> None:
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


def operands_alike(op: Operation) -> None:
    """All operands have the same type."""
    demand_same_type(op, op.operands)


def gives_booleans(op: Operation) -> None:
    """The result has the shape of the operands, and elements of one bit."""
    same_shape(op)
    demand_element(op, op.results[0], i1, "each is true or false")


def gives_parts(op: Operation) -> None:
    """The result has the element type of the operand, or of its real part where that is complex."""
    same_shape(op)
    element = tensor(op, op.operands[0]).element_type
    if isinstance(element, ComplexType):
        element = cast(Attribute, element.element_type)
    demand_element(op, op.results[0], element, "the operand gives it")


def gives_complex(op: Operation) -> None:
    """The elements of the result are complex numbers of the elements of the operands."""
    operands_alike(op)
    same_shape(op)
    element = tensor(op, op.results[0]).element_type
    part = tensor(op, op.operands[0]).element_type
    if not isinstance(element, ComplexType) or cast(Attribute, element.element_type) != part:
        fail(op, "SDY-D012", f"{name_of(op, op.results[0])} should have elements of type complex<{part}>")


def selects(op: Operation) -> None:
    """`select`: the predicate is one boolean, or one per element; both branches have the type of the result."""
    pred, on_true, on_false = op.operands
    demand_same_type(op, (on_true, on_false, op.results[0]))
    demand_element(op, pred, i1, "it chooses")
    if shape(op, pred):
        demand_same_shape(op, (pred, on_true))


def clamps(op: Operation) -> None:
    """`clamp`: the bounds are single values, or have the shape of the operand."""
    low, operand, high = op.operands
    demand_same_type(op, (operand, op.results[0]))
    demand_same_element(op, (operand, low, high))
    for bound in (low, high):
        if shape(op, bound):
            demand_same_shape(op, (operand, bound))
