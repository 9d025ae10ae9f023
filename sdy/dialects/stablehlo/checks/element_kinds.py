"""Which kinds of elements an op can compute with. Quantized elements pass everywhere."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from xdsl.dialects.builtin import AnyFloat, ComplexType, IntegerType, i1
from xdsl.ir import Attribute, Operation

from sdy.dialects.stablehlo.checks.requirements import fail, name_of, tensor


class ElementKind(Enum):
    """A kind of elements, by the word that error messages use."""

    BOOLEANS = "booleans"
    INTEGERS = "integers"
    FLOATS = "floats"
    COMPLEX = "complex numbers"


def element_kind(element: Attribute) -> ElementKind | None:
    """The kind of an element type; None for one that is not told apart here."""
    if element == i1:
        return ElementKind.BOOLEANS
    if isinstance(element, IntegerType):
        return ElementKind.INTEGERS
    if isinstance(element, AnyFloat):
        return ElementKind.FLOATS
    return ElementKind.COMPLEX if isinstance(element, ComplexType) else None


def _first_operand_of(*kinds: ElementKind) -> Callable[[Operation], None]:
    words = " or ".join(kind.value for kind in kinds)

    def check(op: Operation) -> None:
        """The first operand has elements of one of the kinds."""
        value = op.operands[0]
        found = element_kind(tensor(op, value).element_type)
        if found is not None and found not in kinds:
            fail(op, "SDY-D017", f"{name_of(op, value)} should have elements that are {words}")

    return check


check_integer_operand = _first_operand_of(ElementKind.INTEGERS)
check_boolean_or_integer_operand = _first_operand_of(ElementKind.BOOLEANS, ElementKind.INTEGERS)
check_float_operand = _first_operand_of(ElementKind.FLOATS)
check_float_or_complex_operand = _first_operand_of(ElementKind.FLOATS, ElementKind.COMPLEX)
check_numeric_operand = _first_operand_of(ElementKind.INTEGERS, ElementKind.FLOATS, ElementKind.COMPLEX)
check_real_operand = _first_operand_of(ElementKind.INTEGERS, ElementKind.FLOATS)
