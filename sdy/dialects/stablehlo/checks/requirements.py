"""Requirements shared by the checks of all families: shapes with dynamic dims, dim numbers, types, element kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NoReturn, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import error_at
from sdy.dialects.quant import UniformQuantizedType
from sdy.dialects.stablehlo.attributes.types import AnyTensor, DimSizes, as_tensor


def fail(op: Operation, code: str, message: str, hint: str | None = None) -> NoReturn:
    """Raise SdyError at the op."""
    raise error_at(op, code, f"{op.name}: {message}", hint)


def name_of(op: Operation, value: SSAValue) -> str:
    """Return the name and type of an operand or result as the op declares it: `lhs tensor<2xf32>`."""
    definition = cast(IRDLOperation, op).get_irdl_definition()
    for name, _ in (*definition.operands, *definition.results):
        declared: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
        if declared is value:
            return f"{name} {value.type}"
        if isinstance(declared, Sequence) and value in declared:
            return f"{name}[{declared.index(value)}] {value.type}"
    return f"value {value.type}"


def tensor(op: Operation, value: SSAValue) -> AnyTensor:
    """Return the type of an operand or result, or raise an error if it is not a ranked tensor."""
    tensor_type = as_tensor(value.type)
    if tensor_type is None:
        fail(op, "SDY-D011", f"{name_of(op, value)} must be a ranked tensor")
    return tensor_type


def shape(op: Operation, value: SSAValue) -> DimSizes:
    """Return the dim sizes of an operand or result, or raise an error if it is not a ranked tensor."""
    return tensor(op, value).get_shape()


def ints(op: Operation, name: str) -> tuple[int, ...]:
    """Return the values of a property that is an array of integers; an empty tuple if it is missing."""
    value = op.properties.get(name)
    return () if value is None else cast("DenseArrayBase[IntegerType]", value).get_values()


def integer(op: Operation, name: str) -> int:
    """Return the value of an integer property."""
    return cast(IntegerAttr, op.properties[name]).value.data


def require_i64_elements(op: Operation, name: str) -> None:
    """Raise an error if a dense property is present and its elements are not of type i64."""
    value = op.properties.get(name)
    if isinstance(value, DenseElementsAttr) and value.type.get_element_type() != i64:
        fail(op, "SDY-D017", f"{name} must have element type i64, got {value.type}")


def are_compatible_shapes(lhs: DimSizes, rhs: DimSizes) -> bool:
    """Return whether both shapes can be equal at run time: dynamic sizes match any size."""
    if lhs == rhs:
        return True
    return len(lhs) == len(rhs) and all(a == b or DYNAMIC_INDEX in (a, b) for a, b in zip(lhs, rhs, strict=True))


def shape_text(sizes: DimSizes) -> str:
    """Return a shape as it is printed in messages: `2x?x4`, or `scalar` for rank 0."""
    return "x".join("?" if size == DYNAMIC_INDEX else str(size) for size in sizes) or "scalar"


def require_same_type(op: Operation, values: Sequence[SSAValue]) -> None:
    """Raise an error unless all values have the same element type and compatible shapes."""
    if not values:
        return
    first = values[0]
    for other in values[1:]:
        if other.type != first.type:
            require_same_shape(op, (first, other))
            require_same_element_type(op, (first, other))


def require_same_shape(op: Operation, values: Sequence[SSAValue]) -> None:
    """Raise an error unless all values have compatible shapes."""
    first = values[0]
    for other in values[1:]:
        if not are_compatible_shapes(shape(op, first), shape(op, other)):
            fail(op, "SDY-D013", f"{name_of(op, first)} and {name_of(op, other)} must have the same shape")


def require_same_element_type(op: Operation, values: Sequence[SSAValue]) -> None:
    """Raise an error unless all values have the same element type."""
    first = values[0]
    for other in values[1:]:
        if tensor(op, first).element_type != tensor(op, other).element_type:
            fail(op, "SDY-D013", f"{name_of(op, first)} and {name_of(op, other)} must have the same element type")


def have_compatible_quantizations(lhs: Attribute, rhs: Attribute) -> bool:
    """Return whether both element types are quantized, with the same stored integers and the same floats."""
    if not isinstance(lhs, UniformQuantizedType) or not isinstance(rhs, UniformQuantizedType):
        return False
    return (lhs.data.storage, lhs.data.expressed) == (rhs.data.storage, rhs.data.expressed)


def have_compatible_types(lhs: Attribute, rhs: Attribute) -> bool:
    """Return whether two types are equal, or are tensors with one element type and compatible shapes."""
    first, second = as_tensor(lhs), as_tensor(rhs)
    if lhs == rhs or first is None or second is None:
        return lhs == rhs
    return first.element_type == second.element_type and are_compatible_shapes(first.get_shape(), second.get_shape())


def require_shape(op: Operation, value: SSAValue, expected: Sequence[int], reason: str) -> None:
    """Raise an error unless the value has the expected shape. `reason` explains the expectation in the message."""
    if not are_compatible_shapes(shape(op, value), tuple(expected)):
        requirement = f"have shape {shape_text(tuple(expected))}" if expected else "be a scalar"
        fail(op, "SDY-D012", f"{name_of(op, value)} must {requirement} ({reason})")


def require_element_type(op: Operation, value: SSAValue, expected: Attribute, reason: str) -> None:
    """Raise an error unless the value has the expected element type. `reason` explains the expectation."""
    if tensor(op, value).element_type != expected:
        fail(op, "SDY-D012", f"{name_of(op, value)} must have element type {expected} ({reason})")


def require_length(op: Operation, name: str, rank: int, tensor_name: str) -> tuple[int, ...]:
    """Return the values of an array property, or raise an error unless there is one per dim of the named tensor."""
    values = ints(op, name)
    if len(values) != rank:
        fail(
            op, "SDY-D014", f"{name} must have one element per dim of {tensor_name}: expected {rank}, got {len(values)}"
        )
    return values


def require_dims(op: Operation, name: str, dims: Sequence[int], rank: int, tensor_name: str) -> None:
    """Raise an error unless `dims` are distinct dims of the named tensor, which has `rank` dims."""
    for dim in dims:
        if not 0 <= dim < rank:
            fail(op, "SDY-D015", f"dim {dim} in {name} is out of range: {tensor_name} has rank {rank}")
    if len({*dims}) != len(dims):
        fail(op, "SDY-D015", f"{name} must not repeat a dim, got {list(dims)}")


def scaled_size(size: int, factor: int) -> int:
    """Return a dim size multiplied by `factor`; a dynamic size stays dynamic."""
    return DYNAMIC_INDEX if size == DYNAMIC_INDEX else size * factor


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
