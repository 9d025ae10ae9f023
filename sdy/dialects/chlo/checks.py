"""Checks of CHLO ops."""

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
from sdy.dialects.stablehlo.attributes.types import DimSizes
from sdy.dialects.stablehlo.checks.regions import require_region
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
    """Check that operands and result have one element type, and the result the broadcast shape."""
    require_same_element_type(op, (*op.operands, op.results[0]))
    _require_common_shape(op)


def check_broadcast_compare(op: Operation) -> None:
    """Check that the operands have one element type, and that the result has element type i1."""
    require_same_element_type(op, op.operands)
    require_element_type(op, op.results[0], i1, "the result holds booleans")
    _require_common_shape(op)


def check_broadcast_complex(op: Operation) -> None:
    """Check that the result is complex and that its real part has the element type of the operands."""
    require_same_element_type(op, op.operands)
    element = tensor(op, op.results[0]).element_type
    if not isinstance(element, ComplexType) or element.element_type != tensor(op, op.operands[0]).element_type:
        real = tensor(op, op.operands[0]).element_type
        fail(op, "SDY-D012", f"{name_of(op, op.results[0])} must have element type complex<{real}>")
    _require_common_shape(op)


def check_broadcast_select(op: Operation) -> None:
    """Check that the predicate is boolean, and that the branches have the element type of the result."""
    require_element_type(op, op.operands[0], i1, "a predicate holds booleans")
    require_same_element_type(op, (*op.operands[1:], op.results[0]))
    _require_common_shape(op)


def check_top_k(op: Operation) -> None:
    """Check that the last dim of the results has `k` elements, at most as many as the operand has."""
    operand, k = shape(op, op.operands[0]), integer(op, "k")
    if not operand:
        fail(op, "SDY-D011", f"{name_of(op, op.operands[0])} must have at least one dim")
    if k < 0 or (k > operand[-1] and operand[-1] != DYNAMIC_INDEX):
        fail(op, "SDY-D016", f"k must be from 0 to {operand[-1]}, the size of the last dim, got {k}")
    values, indices = op.results
    require_same_element_type(op, (op.operands[0], values))
    require_element_type(op, indices, i32, "the result holds indices")
    for result in op.results:
        require_shape(op, result, (*operand[:-1], k), "inferred from the operand and k")


def check_constant_like(op: Operation) -> None:
    """Check that the result has the shape of the operand and the element type of the value."""
    require_same_shape(op, (op.operands[0], op.results[0]))
    value = cast("IntegerAttr | FloatAttr", op.properties["value"])
    require_element_type(op, op.results[0], value.type, "inferred from the value")


def check_ragged_dot(op: Operation) -> None:
    """Check that dim numbers are distinct dims of their operand, and that lhs has one ragged dim."""
    numbers = cast(RaggedDotDimensionNumbersAttr, op.properties["ragged_dot_dimension_numbers"]).data
    lhs, rhs = shape(op, op.operands[0]), shape(op, op.operands[1])
    lhs_dims = numbers.lhs_batching_dimensions + numbers.lhs_contracting_dimensions
    rhs_dims = numbers.rhs_batching_dimensions + numbers.rhs_contracting_dimensions
    require_dims(op, "the dimension numbers of lhs", lhs_dims, len(lhs), "lhs")
    require_dims(op, "the dimension numbers of rhs", rhs_dims + numbers.rhs_group_dimensions, len(rhs), "rhs")
    require_dims(op, "lhs_ragged_dimensions", numbers.lhs_ragged_dimensions, len(lhs), "lhs")
    if len(numbers.lhs_ragged_dimensions) != 1:
        fail(op, "SDY-D014", f"expected one dim in lhs_ragged_dimensions, got {len(numbers.lhs_ragged_dimensions)}")


def check_scan(op: Operation) -> None:
    """Check that the body takes slices of the inputs and the carries, and returns slices of the outputs and carries."""
    sizes = cast("DenseArrayBase[IntegerType]", op.properties["operandSegmentSizes"]).get_values()
    inputs, inits = op.operands[: sizes[0]], op.operands[sizes[0] :]
    if not inputs:
        fail(op, "SDY-D001", "expected at least one input")
    dim = integer(op, "dimension")
    for value in inputs:
        require_dims(op, "dimension", [dim], len(shape(op, value)), "an input")
    length = shape(op, inputs[0])[dim]
    slices = [_slice_type(op, value, dim) for value in inputs]
    carried = [init.type for init in inits]
    outputs, carries = op.results[: len(op.results) - len(inits)], op.results[len(op.results) - len(inits) :]
    for output in outputs:
        require_dims(op, "dimension", [dim], len(shape(op, output)), "an output")
        require_shape(op, output, _with_size(shape(op, output), dim, length), "inferred from the inputs")
    returned = [_slice_type(op, output, dim) for output in outputs] + [carry.type for carry in carries]
    require_region(op, op.regions[0], "the body", [*slices, *carried], returned)
    for init, carry in zip(inits, carries, strict=True):
        require_same_shape(op, (init, carry))


def _slice_type(op: Operation, value: SSAValue, dim: int) -> Attribute:
    tensor_type = tensor(op, value)
    sizes = tensor_type.get_shape()
    return TensorType(tensor_type.element_type, [*sizes[:dim], *sizes[dim + 1 :]])


def _with_size(sizes: DimSizes, dim: int, size: int) -> DimSizes:
    return (*sizes[:dim], size, *sizes[dim + 1 :])


def _require_common_shape(op: Operation) -> None:
    """Raise an error unless the result has the shape to which the operands broadcast.

    Dims are aligned from the last one, or by `broadcast_dimensions`.
    """
    shapes = [shape(op, operand) for operand in op.operands]
    dims = ints(op, "broadcast_dimensions")
    if dims:
        rank = max(map(len, shapes))
        smaller = min(shapes, key=len)
        require_dims(op, "broadcast_dimensions", dims, rank, "the larger operand")
        if len(dims) != len(smaller):
            message = "broadcast_dimensions must have one element per dim of the smaller operand"
            fail(op, "SDY-D014", f"{message}: expected {len(smaller)}, got {len(dims)}")
        expanded = [1] * rank
        for dim, size in zip(dims, smaller, strict=True):
            expanded[dim] = size
        shapes[shapes.index(smaller)] = tuple(expanded)
    common: DimSizes = ()
    for operand in shapes:
        common = _broadcast(op, common, operand)
    require_shape(op, op.results[0], common, "inferred from the operands")


def _broadcast(op: Operation, lhs: DimSizes, rhs: DimSizes) -> DimSizes:
    rank = max(len(lhs), len(rhs))
    padded_lhs, padded_rhs = (1,) * (rank - len(lhs)) + lhs, (1,) * (rank - len(rhs)) + rhs
    return tuple(_broadcast_size(op, a, b) for a, b in zip(padded_lhs, padded_rhs, strict=True))


def _broadcast_size(op: Operation, lhs: int, rhs: int) -> int:
    if lhs == rhs or rhs == 1:
        return lhs
    if lhs == 1:
        return rhs
    if DYNAMIC_INDEX not in (lhs, rhs):
        fail(op, "SDY-D013", f"dims of sizes {lhs} and {rhs} cannot be broadcast to a common size")
    return max(lhs, rhs)
