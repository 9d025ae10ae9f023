"""Padding rules of dots and convolutions: padding along contracting dims must be zero.

Source: docs/spec/06, 2.6 and 8.2 (G41 to G43).
"""

from __future__ import annotations

from collections.abc import Sequence

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import contraction, window
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.padder import Padder, Rule

RULES = OpTable[Rule]()


@RULES.of(contraction.DotGeneralOp)
def dot_general(op: contraction.DotGeneralOp) -> Rule:
    """Mask the contracting dims with zeros."""
    numbers = op.dot_dimension_numbers.data
    return _mask_with_zeros(op, numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions)


@RULES.of(contraction.DotOp)
def dot(op: contraction.DotOp) -> Rule:
    """Mask the last dim of the lhs and the first dim of the rhs with zeros."""
    return _mask_with_zeros(op, [len(shape_of(op.lhs)) - 1], [0])


def _mask_with_zeros(
    op: contraction.DotGeneralOp | contraction.DotOp | window.ConvolutionOp, lhs: Sequence[int], rhs: Sequence[int]
) -> Rule:
    def pad(padder: Padder) -> None:
        emit = padder.emitter(op)
        for index, dims in enumerate((lhs, rhs)):
            op.operands[index] = padder.masked_with(emit, op.operands[index], 0, dims)
        padder.resize_to_targets(op.results)

    return pad


@RULES.of(window.ConvolutionOp)
def convolution(op: window.ConvolutionOp) -> Rule:
    """Mask the input features with zeros.

    Padding of spatial dims, or of dims that are split into groups, would shift windows and groups; such convolutions
    compute on tensors without padding.
    """
    numbers = op.dimension_numbers.data
    lhs_spatial, rhs_spatial = numbers.input_spatial_dimensions, numbers.kernel_spatial_dimensions
    features = (
        [numbers.input_feature_dimension, *lhs_spatial],
        [numbers.kernel_input_feature_dimension, *rhs_spatial],
    )
    grouped = (
        {numbers.input_feature_dimension, numbers.input_batch_dimension},
        {numbers.kernel_output_feature_dimension},
    )
    has_groups = op.feature_group_count.value.data > 1 or op.batch_group_count.value.data > 1

    def pad(padder: Padder) -> None:
        lhs, rhs = (set(padder.facts.padded_dims(operand)) for operand in op.operands)
        is_windowed = {
            dim
            for index, dim in enumerate(lhs_spatial)
            if not _is_pointwise(op, index, shape_of(op.rhs)[rhs_spatial[index]])
        }
        result_sizes = list(shape_of(op.result))
        result_sizes[numbers.output_batch_dimension] = (
            shape_of(op.lhs)[numbers.input_batch_dimension] // op.batch_group_count.value.data
        )
        result_sizes[numbers.output_feature_dimension] = shape_of(op.rhs)[numbers.kernel_output_feature_dimension]
        for dim, result_dim in zip(lhs_spatial, numbers.output_spatial_dimensions, strict=True):
            if dim in lhs - is_windowed:
                result_sizes[result_dim] = shape_of(op.lhs)[dim]
        shifts = lhs & is_windowed or rhs & {*rhs_spatial} or (has_groups and (lhs & grouped[0] or rhs & grouped[1]))
        if shifts or padder.facts.target_sizes(op.result) != tuple(result_sizes):
            compute_unpadded(op, padder)
            return
        _mask_with_zeros(op, *features)(padder)

    return pad


def _is_pointwise(op: window.ConvolutionOp, index: int, window_size: int) -> bool:
    """Return whether each output along a spatial dim depends on one input at the same position.

    `index` counts the spatial dims.
    """
    steps = [
        1 if each is None else ints_of(each)[index] for each in (op.window_strides, op.lhs_dilation, op.rhs_dilation)
    ]
    padding = () if op.padding is None else op.padding.get_ints()[2 * index : 2 * index + 2]
    return window_size == 1 and steps == [1, 1, 1] and not any(padding)
