"""Padding of products that sum over padded dims: zeros add nothing.

Source: docs/spec/06, 2.6 and 8.2 (G41 to G43).
"""

from __future__ import annotations

from collections.abc import Sequence

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import contraction, window
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.padding.padder import Padder, Rule

RULES = OpTable[Rule]()


@RULES.of(contraction.DotGeneralOp)
def dot_general(op: contraction.DotGeneralOp) -> Rule:
    """Zeros along the dims that are summed over."""
    numbers = op.dot_dimension_numbers.data
    return _zeros(op, numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions)


@RULES.of(contraction.DotOp)
def dot(op: contraction.DotOp) -> Rule:
    """As `dot_general`, over the last dim of the lhs and the first one of the rhs."""
    return _zeros(op, [len(shape_of(op.lhs)) - 1], [0])


def _zeros(
    op: contraction.DotGeneralOp | contraction.DotOp | window.ConvolutionOp, lhs: Sequence[int], rhs: Sequence[int]
) -> Rule:
    def pad(padder: Padder) -> None:
        emit = padder.emitter(op)
        for index, dims in enumerate((lhs, rhs)):
            op.operands[index] = padder.masked_by(emit, op.operands[index], 0, dims)
        padder.make_even(op.results)

    return pad


@RULES.of(window.ConvolutionOp)
def convolution(op: window.ConvolutionOp) -> Rule:
    """Zeros along the features that are summed over.

    Padded spatial dims, and padded dims that are cut into groups, would shift windows and groups: these are computed
    whole.
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
        lhs, rhs = (set(padder.padded_dims(operand)) for operand in op.operands)
        is_windowed = {
            dim
            for place, dim in enumerate(lhs_spatial)
            if not _is_pointwise(op, place, shape_of(op.rhs)[rhs_spatial[place]])
        }
        produced = list(shape_of(op.result))
        produced[numbers.output_batch_dimension] = (
            shape_of(op.lhs)[numbers.input_batch_dimension] // op.batch_group_count.value.data
        )
        produced[numbers.output_feature_dimension] = shape_of(op.rhs)[numbers.kernel_output_feature_dimension]
        for dim, result_dim in zip(lhs_spatial, numbers.output_spatial_dimensions, strict=True):
            if dim in lhs - is_windowed:
                produced[result_dim] = shape_of(op.lhs)[dim]
        moves = lhs & is_windowed or rhs & {*rhs_spatial} or (has_groups and (lhs & grouped[0] or rhs & grouped[1]))
        if moves or padder.wanted(op.result) != tuple(produced):
            padder.compute_whole(op)
            return
        _zeros(op, *features)(padder)

    return pad


def _is_pointwise(op: window.ConvolutionOp, place: int, window_size: int) -> bool:
    """Whether each output along a spatial dim comes from one input at the same place."""
    steps = [
        1 if each is None else ints_of(each)[place] for each in (op.window_strides, op.lhs_dilation, op.rhs_dilation)
    ]
    padding = () if op.padding is None else op.padding.get_ints()[2 * place : 2 * place + 2]
    return window_size == 1 and steps == [1, 1, 1] and not any(padding)
