"""Checks of the kind of elements that an op computes with. Quantized elements pass every check."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from xdsl.dialects.builtin import AnyFloat, ComplexType, IndexType, IntegerType, Signedness, i1
from xdsl.ir import Attribute, Operation

from sdy.dialects.stablehlo.checks.requirements import fail, name_of, tensor


class ElementKind(Enum):
    """A kind of elements; the value is its name in messages."""

    BOOLEANS = "booleans"
    INTEGERS = "integers"
    FLOATS = "floats"
    COMPLEX = "complex numbers"


def element_kind(element: Attribute) -> ElementKind | None:
    """Return the kind of an element type, or None for types that these checks do not distinguish."""
    if element == i1:
        return ElementKind.BOOLEANS
    if isinstance(element, IntegerType):
        return ElementKind.INTEGERS
    if isinstance(element, AnyFloat):
        return ElementKind.FLOATS
    return ElementKind.COMPLEX if isinstance(element, ComplexType) else None


def _check_first_operand(*kinds: ElementKind) -> Callable[[Operation], None]:
    names = " or ".join(kind.value for kind in kinds)

    def check(op: Operation) -> None:
        """Check that the first operand has elements of one of the kinds."""
        value = op.operands[0]
        actual = element_kind(tensor(op, value).element_type)
        if actual is not None and actual not in kinds:
            fail(op, "SDY-D017", f"{name_of(op, value)} must have elements that are {names}")

    return check


def check_signed_operand(op: Operation) -> None:
    """Check that the first operand has numbers that may be negative."""
    check_numeric_operand(op)
    value = op.operands[0]
    element = tensor(op, value).element_type
    if isinstance(element, IntegerType) and element.signedness.data is Signedness.UNSIGNED:
        fail(op, "SDY-D017", f"{name_of(op, value)} must have elements that may be negative")


def check_indices(
    first: int, *, count: int | None = None, allows_booleans: bool = False
) -> Callable[[Operation], None]:
    """Return a check that `count` operands from index `first` on, or all others, hold integers."""
    end = None if count is None else first + count

    def check(op: Operation) -> None:
        """Check that the operands that are indices or sizes hold integers."""
        for value in op.operands[first:end]:
            element = tensor(op, value).element_type
            is_integer = isinstance(element, IntegerType) and (allows_booleans or element != i1)
            if not is_integer and not isinstance(element, IndexType):
                fail(op, "SDY-D017", f"{name_of(op, value)} must have elements that are integers")

    return check


def check_scatter_indices(op: Operation) -> None:
    """Check that the indices, which follow the inputs, hold integers or booleans."""
    check_indices(len(op.operands) // 2, count=1, allows_booleans=True)(op)


check_integer_operand = _check_first_operand(ElementKind.INTEGERS)
check_boolean_or_integer_operand = _check_first_operand(ElementKind.BOOLEANS, ElementKind.INTEGERS)
check_float_operand = _check_first_operand(ElementKind.FLOATS)
check_float_or_complex_operand = _check_first_operand(ElementKind.FLOATS, ElementKind.COMPLEX)
check_numeric_operand = _check_first_operand(ElementKind.INTEGERS, ElementKind.FLOATS, ElementKind.COMPLEX)
check_real_operand = _check_first_operand(ElementKind.BOOLEANS, ElementKind.INTEGERS, ElementKind.FLOATS)
