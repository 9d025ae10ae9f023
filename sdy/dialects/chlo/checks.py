"""Types of CHLO ops."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ComplexType,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from sdy.dialects.chlo.attrs import RaggedDotDimensionNumbersAttr
from sdy.dialects.stablehlo.attributes.types import Shape
from sdy.dialects.stablehlo.checks.control import require_region
from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    integer,
    ints,
    name_of,
    require_dims,
    require_element_type,
    require_same_element_type,
    require_same_shape,
    require_shape,
    shape,
    tensor,
)


def check_broadcast_binary(op: Operation) -> None:
    """Operands of one element type, which the result has too, in the shape to which all broadcast."""
    require_same_element_type(op, (*op.operands, op.results[0]))
    _require_common_shape(op)


def check_broadcast_compare(op: Operation) -> None:
    """`broadcast_compare`: operands of one element type; the result is true or false at each place."""
    require_same_element_type(op, op.operands)
    require_element_type(op, op.results[0], i1, "each is true or false")
    _require_common_shape(op)


def check_broadcast_complex(op: Operation) -> None:
    """`broadcast_complex`: the elements of the result are complex numbers of those of the operands."""
    require_same_element_type(op, op.operands)
    element = tensor(op, op.results[0]).element_type
    if not isinstance(element, ComplexType) or element.element_type != tensor(op, op.operands[0]).element_type:
        fail(op, "SDY-D012", f"{name_of(op, op.results[0])} should hold complex numbers of {op.operands[0].type}")
    _require_common_shape(op)


def check_broadcast_select(op: Operation) -> None:
    """`broadcast_select`: a boolean predicate, branches of the element type of the result."""
    require_element_type(op, op.operands[0], i1, "it chooses")
    require_same_element_type(op, (*op.operands[1:], op.results[0]))
    _require_common_shape(op)


def check_top_k(op: Operation) -> None:
    """`top_k`: the last dim has k elements."""
    operand, k = shape(op, op.operands[0]), integer(op, "k")
    if not operand:
        fail(op, "SDY-D011", f"{name_of(op, op.operands[0])} has no dim to choose along")
    if k < 0 or (k > operand[-1] and operand[-1] != DYNAMIC_INDEX):
        fail(op, "SDY-D016", f"k is {k}, the last dim has {operand[-1]} elements")
    values, indices = op.results
    require_same_element_type(op, (op.operands[0], values))
    require_element_type(op, indices, i32, "it holds indices")
    for result in op.results:
        require_shape(op, result, (*operand[:-1], k), "operand and k give it")


def check_constant_like(op: Operation) -> None:
    """`constant_like`: the result has the shape of the operand, and elements of the type of the value."""
    require_same_shape(op, (op.operands[0], op.results[0]))
    value = cast("IntegerAttr | FloatAttr", op.properties["value"])
    require_element_type(op, op.results[0], value.type, "the value gives it")


def check_ragged_dot(op: Operation) -> None:
    """`ragged_dot`: dim numbers are dims, each named once, and one dim of lhs is ragged."""
    numbers = cast(RaggedDotDimensionNumbersAttr, op.properties["ragged_dot_dimension_numbers"]).data
    lhs, rhs = shape(op, op.operands[0]), shape(op, op.operands[1])
    lhs_dims = numbers.lhs_batching_dimensions + numbers.lhs_contracting_dimensions
    rhs_dims = numbers.rhs_batching_dimensions + numbers.rhs_contracting_dimensions
    require_dims(op, "lhs dims", lhs_dims, len(lhs), "lhs")
    require_dims(op, "rhs dims", rhs_dims + numbers.rhs_group_dimensions, len(rhs), "rhs")
    require_dims(op, "lhs_ragged_dimensions", numbers.lhs_ragged_dimensions, len(lhs), "lhs")
    if len(numbers.lhs_ragged_dimensions) != 1:
        fail(op, "SDY-D014", f"lhs_ragged_dimensions has {len(numbers.lhs_ragged_dimensions)} dims, it takes one")


def check_scan(op: Operation) -> None:
    """`scan`: the body takes a slice per input and what is carried, gives a slice per output and what it carries on."""
    sizes = cast("DenseArrayBase[IntegerType]", op.properties["operandSegmentSizes"]).get_values()
    inputs, inits = op.operands[: sizes[0]], op.operands[sizes[0] :]
    if not inputs:
        fail(op, "SDY-D001", "there is nothing to scan")
    dim = integer(op, "dimension")
    for value in inputs:
        require_dims(op, "dimension", [dim], len(shape(op, value)), "an input")
    length = shape(op, inputs[0])[dim]
    slices = [_slice_type(op, value, dim) for value in inputs]
    carried = [init.type for init in inits]
    outputs, carries = op.results[: len(op.results) - len(inits)], op.results[len(op.results) - len(inits) :]
    for output in outputs:
        require_dims(op, "dimension", [dim], len(shape(op, output)), "an output")
        require_shape(op, output, _with_size(shape(op, output), dim, length), "the inputs have as many slices")
    given = [_slice_type(op, output, dim) for output in outputs] + [carry.type for carry in carries]
    require_region(op, op.regions[0], "the body", [*slices, *carried], given)
    for init, carry in zip(inits, carries, strict=True):
        require_same_shape(op, (init, carry))


def _slice_type(op: Operation, value: SSAValue, dim: int) -> Attribute:
    of = tensor(op, value)
    sizes = of.get_shape()
    return TensorType(of.element_type, [*sizes[:dim], *sizes[dim + 1 :]])


def _with_size(sizes: Shape, dim: int, size: int) -> Shape:
    return (*sizes[:dim], size, *sizes[dim + 1 :])


def _require_common_shape(op: Operation) -> None:
    """The result has the shape to which the operands broadcast: from the last dim on, or by `broadcast_dimensions`."""
    shapes = [shape(op, operand) for operand in op.operands]
    dims = ints(op, "broadcast_dimensions")
    if dims:
        rank = max(map(len, shapes))
        lesser = min(shapes, key=len)
        require_dims(op, "broadcast_dimensions", dims, rank, "the larger operand")
        if len(dims) != len(lesser):
            fail(op, "SDY-D014", f"broadcast_dimensions has {len(dims)} numbers, the lesser operand {len(lesser)} dims")
        spread = [1] * rank
        for dim, size in zip(dims, lesser, strict=True):
            spread[dim] = size
        shapes[shapes.index(lesser)] = tuple(spread)
    common: Shape = ()
    for operand in shapes:
        common = _broadcast(op, common, operand)
    require_shape(op, op.results[0], common, "the operands broadcast to it")


def _broadcast(op: Operation, one: Shape, other: Shape) -> Shape:
    rank = max(len(one), len(other))
    left, right = (1,) * (rank - len(one)) + one, (1,) * (rank - len(other)) + other
    return tuple(_joined(op, a, b) for a, b in zip(left, right, strict=True))


def _joined(op: Operation, one: int, other: int) -> int:
    if one == other or other == 1:
        return one
    if one == 1:
        return other
    if DYNAMIC_INDEX not in (one, other):
        fail(op, "SDY-D013", f"dims of sizes {one} and {other} do not broadcast to one")
    return max(one, other)
