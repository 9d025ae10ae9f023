"""What the checks of all families ask: of shapes that may be unknown in part, of dim numbers, of result types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.stablehlo.attributes.types import AnyTensor, Shape, as_tensor


def fail(op: Operation, code: str, message: str, hint: str | None = None) -> NoReturn:
    """Raises the error at the op."""
    raise SdyError(Diagnostic(code, f"{op.name}: {message}", span_of(op), hint))


def name_of(op: Operation, value: SSAValue) -> str:
    """What the op calls one of its operands or results, with its type: `lhs tensor<2xf32>`."""
    definition = cast(IRDLOperation, op).get_irdl_definition()
    for name, _ in (*definition.operands, *definition.results):
        held: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
        if held is value:
            return f"{name} {value.type}"
        if isinstance(held, Sequence) and value in held:
            return f"{name}[{held.index(value)}] {value.type}"
    return f"value {value.type}"


def tensor(op: Operation, value: SSAValue) -> AnyTensor:
    """The type of an operand or result, which must be a ranked tensor."""
    found = as_tensor(value.type)
    if found is None:
        fail(op, "SDY-D011", f"{name_of(op, value)} is no ranked tensor")
    return found


def shape(op: Operation, value: SSAValue) -> Shape:
    """The dims of an operand or result, which must be a ranked tensor."""
    return tensor(op, value).get_shape()


def ints(op: Operation, name: str) -> tuple[int, ...]:
    """A property that is an array of integers; empty where it is missing."""
    value = op.properties.get(name)
    return () if value is None else cast("DenseArrayBase[IntegerType]", value).get_values()


def integer(op: Operation, name: str) -> int:
    """A property that is an integer."""
    return cast(IntegerAttr, op.properties[name]).value.data


def require_i64_elements(op: Operation, name: str) -> None:
    """A property that is a dense constant, if it is there, has elements of 64 bits."""
    value = op.properties.get(name)
    if isinstance(value, DenseElementsAttr) and value.type.get_element_type() != i64:
        fail(op, "SDY-D017", f"{name} should have elements of type i64, it is {value.type}")


def are_compatible_shapes(one: Shape, other: Shape) -> bool:
    """Whether both shapes can be the same, given what is known of them."""
    if one == other:
        return True
    return len(one) == len(other) and all(a == b or DYNAMIC_INDEX in (a, b) for a, b in zip(one, other, strict=True))


def shape_text(of: Shape) -> str:
    """`2x?x4`; of no dims, `scalar`."""
    return "x".join("?" if size == DYNAMIC_INDEX else str(size) for size in of) or "scalar"


def require_same_type(op: Operation, values: Sequence[SSAValue]) -> None:
    """All values have the same element type, and shapes that can be the same."""
    if not values:
        return
    first = values[0]
    for other in values[1:]:
        if other.type != first.type:
            require_same_shape(op, (first, other))
            require_same_element_type(op, (first, other))


def require_same_shape(op: Operation, values: Sequence[SSAValue]) -> None:
    """All values have shapes that can be the same."""
    first = values[0]
    for other in values[1:]:
        if not are_compatible_shapes(shape(op, first), shape(op, other)):
            fail(op, "SDY-D013", f"{name_of(op, first)} and {name_of(op, other)} should have the same shape")


def require_same_element_type(op: Operation, values: Sequence[SSAValue]) -> None:
    """All values have the same element type."""
    first = values[0]
    for other in values[1:]:
        if tensor(op, first).element_type != tensor(op, other).element_type:
            fail(op, "SDY-D013", f"{name_of(op, first)} and {name_of(op, other)} should have the same element type")


def have_compatible_types(one: Attribute, other: Attribute) -> bool:
    """Whether two types can be the same, given what is known of their shapes."""
    first, second = as_tensor(one), as_tensor(other)
    if one == other or first is None or second is None:
        return one == other
    return first.element_type == second.element_type and are_compatible_shapes(first.get_shape(), second.get_shape())


def require_shape(op: Operation, value: SSAValue, wanted: Sequence[int], reason: str) -> None:
    """The value, a result or an operand, has the shape that `reason` gives."""
    if not are_compatible_shapes(shape(op, value), tuple(wanted)):
        message = f"{name_of(op, value)} should have the shape {shape_text(tuple(wanted))}, as {reason}"
        fail(op, "SDY-D012", message)


def require_element_type(op: Operation, value: SSAValue, wanted: Attribute, reason: str) -> None:
    """The value has the element type that `reason` gives."""
    if tensor(op, value).element_type != wanted:
        fail(op, "SDY-D012", f"{name_of(op, value)} should have elements of type {wanted}, as {reason}")


def require_length(op: Operation, name: str, wanted: int, of: str) -> tuple[int, ...]:
    """An array property has one number per dim of something; the numbers."""
    values = ints(op, name)
    if len(values) != wanted:
        fail(op, "SDY-D014", f"{name} has {len(values)} numbers, {of} has {wanted} dims")
    return values


def require_dims(op: Operation, name: str, dims: Sequence[int], rank: int, of: str) -> None:
    """Dim numbers are dims of something with `rank` dims, each at most once."""
    for dim in dims:
        if not 0 <= dim < rank:
            fail(op, "SDY-D015", f"{name} names dim {dim}, {of} has {rank} dims")
    if len({*dims}) != len(dims):
        fail(op, "SDY-D015", f"{name} names a dim twice: {list(dims)}")


def scaled_size(size: int, factor: int) -> int:
    """A dim size times a number."""
    return DYNAMIC_INDEX if size == DYNAMIC_INDEX else size * factor
