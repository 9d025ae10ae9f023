"""Which kinds of elements an op can compute with. Quantized elements pass everywhere."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from xdsl.dialects.builtin import AnyFloat, ComplexType, IntegerType, i1
from xdsl.ir import Attribute, Operation

from sdy.dialects.stablehlo.checks.demands import fail, name_of, tensor


class Kind(Enum):
    """A kind of elements, by the word that error messages use."""

    BOOLEANS = "booleans"
    INTEGERS = "integers"
    FLOATS = "floats"
    COMPLEX = "complex numbers"


def kind_of(element: Attribute) -> Kind | None:
    """The kind of an element type; None for one that is not told apart here."""
    if element == i1:
        return Kind.BOOLEANS
    if isinstance(element, IntegerType):
        return Kind.INTEGERS
    if isinstance(element, AnyFloat):
        return Kind.FLOATS
    return Kind.COMPLEX if isinstance(element, ComplexType) else None


def _first_operand_of(*kinds: Kind) -> Callable[[Operation], None]:
    words = " or ".join(kind.value for kind in kinds)

    def check(op: Operation) -> None:
        """The first operand has elements of one of the kinds."""
        value = op.operands[0]
        found = kind_of(tensor(op, value).element_type)
        if found is not None and found not in kinds:
            fail(op, "SDY-D017", f"{name_of(op, value)} should have elements that are {words}")

    return check


of_integers = _first_operand_of(Kind.INTEGERS)
of_bits = _first_operand_of(Kind.BOOLEANS, Kind.INTEGERS)
of_floats = _first_operand_of(Kind.FLOATS)
of_fields = _first_operand_of(Kind.FLOATS, Kind.COMPLEX)
of_numbers = _first_operand_of(Kind.INTEGERS, Kind.FLOATS, Kind.COMPLEX)
of_reals = _first_operand_of(Kind.INTEGERS, Kind.FLOATS)
