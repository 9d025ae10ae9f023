"""The order of dims in memory that matrix products and convolutions need.

A library of matrix products reads a stack of matrices: the batch dims first, then the dims of the rows and those of the
columns, in either order. A convolution reads and computes batch dim, windows and features, in this order. XLA copies
other operands to that order, and results from it. Dims of size 1 may be anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.contraction import DotGeneralOp
from sdy.dialects.stablehlo.window import ConvolutionOp


def reads_in_place(op: Operation, index: int, order: Sequence[int] | None = None) -> bool:
    """Return whether a matrix product reads an operand as it is stored.

    `order` lists the dims of the operand, the most major in memory first; by default they are in order.
    """
    if not isinstance(op, DotGeneralOp):
        return True
    numbers = op.dot_dimension_numbers.data
    batch, contracting = numbers.lhs_batching_dimensions, numbers.lhs_contracting_dimensions
    if index == 1:
        # XLA sorts the dims of both operands by those of the left one.
        batch = _sorted_by(batch, numbers.rhs_batching_dimensions)
        contracting = _sorted_by(contracting, numbers.rhs_contracting_dimensions)
    else:
        batch, contracting = sorted(batch), sorted(contracting)
    shape = shape_of(operands_of(op)[index])
    others = [dim for dim in range(len(shape)) if dim not in batch and dim not in contracting]
    found = [dim for dim in order or range(len(shape)) if shape[dim] != 1]
    expected = ([*batch, *others, *contracting], [*batch, *contracting, *others])
    return any(found == [dim for dim in each if shape[dim] != 1] for each in expected)


def reads_in_order(op: ConvolutionOp, index: int) -> bool:
    """Return whether a convolution reads an operand as it is stored."""
    numbers = op.dimension_numbers.data
    if index == 0:
        order = (numbers.input_batch_dimension, *numbers.input_spatial_dimensions, numbers.input_feature_dimension)
    else:
        features = numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension
        order = (*numbers.kernel_spatial_dimensions, *features)
    return _is_in_order(order, operands_of(op)[index])


def computes_in_order(op: ConvolutionOp) -> bool:
    """Return whether a convolution computes its result as it is stored."""
    numbers = op.dimension_numbers.data
    order = (numbers.output_batch_dimension, *numbers.output_spatial_dimensions, numbers.output_feature_dimension)
    return _is_in_order(order, op.result)


def _is_in_order(dims: Sequence[int], value: SSAValue) -> bool:
    shape = shape_of(value)
    found = [dim for dim in dims if shape[dim] != 1]
    return found == sorted(found)


def _sorted_by(keys: Sequence[int], dims: Sequence[int]) -> list[int]:
    return [dim for _, dim in sorted(zip(keys, dims, strict=True))]
