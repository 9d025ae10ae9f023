"""Padding rules of dots and convolutions: padding along contracting dims must be zero.

Source: docs/spec/06, 2.6 and 8.2 (G41 to G43).
"""

from __future__ import annotations

from collections.abc import Sequence

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import contraction, window
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.window import convolution_shape
from sdy.model.shape import StaticShape
from sdy.partitioner.on_shards.windows import windows_of
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.padder import Padder

RULES = OpTable[None, [Padder]]()


@RULES.of(contraction.DotGeneralOp)
def dot_general(op: contraction.DotGeneralOp, padder: Padder) -> None:
    """Mask the contracting dims with zeros."""
    numbers = op.dot_dimension_numbers.data
    _mask_with_zeros(op, numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions, padder)


@RULES.of(contraction.DotOp)
def dot(op: contraction.DotOp, padder: Padder) -> None:
    """Mask the last dim of the lhs and the first dim of the rhs with zeros."""
    _mask_with_zeros(op, [len(shape_of(op.lhs)) - 1], [0], padder)


def _mask_with_zeros(
    op: contraction.DotGeneralOp | contraction.DotOp | window.ConvolutionOp,
    lhs: Sequence[int],
    rhs: Sequence[int],
    padder: Padder,
) -> None:
    emit = padder.emitter(op)
    for index, dims in enumerate((lhs, rhs)):
        op.operands[index] = padder.masked_with(emit, op.operands[index], 0, dims)
    padder.resize_to_targets(op.results)


@RULES.of(window.ConvolutionOp)
def convolution(op: window.ConvolutionOp, padder: Padder) -> None:
    """Mask input features and spatial dims with zeros; windows on the padding alone are trimmed from the result.

    Padding of the window itself, or of dims that are split into groups, would shift windows and groups; such
    convolutions compute on tensors without padding. Before reshards, so do those whose windows overlap.
    """
    numbers = op.dimension_numbers.data
    lhs_spatial, rhs_spatial = numbers.input_spatial_dimensions, numbers.kernel_spatial_dimensions
    summed = (
        [numbers.input_feature_dimension, *lhs_spatial],
        [numbers.kernel_input_feature_dimension, *rhs_spatial],
    )
    grouped = (
        {numbers.input_feature_dimension, numbers.input_batch_dimension},
        {numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension},
    )
    has_groups = op.feature_group_count.value.data > 1 or op.batch_group_count.value.data > 1
    lhs, rhs = (set(padder.facts.padded_dims(operand)) for operand in op.operands)
    shifts = rhs & {*rhs_spatial} or (has_groups and (lhs & grouped[0] or rhs & grouped[1]))
    if padder.facts.is_before_reshards:
        shifts = shifts or any(not each.is_pointwise for dim, each in windows_of(op).items() if dim in lhs)
    sizes, target = convolution_shape(op), padder.facts.target_sizes(op.result)
    extra = [dim for dim, size in enumerate(sizes) if size != target[dim]]
    if shifts or not all(_may_be_trimmed(op, dim, sizes, padder) for dim in extra):
        compute_unpadded(op, padder)
        return
    _mask_with_zeros(op, *summed, padder)
    if extra:
        _trim_result(op, sizes, extra, padder)


def _trim_result(op: window.ConvolutionOp, sizes: StaticShape, dims: Sequence[int], padder: Padder) -> None:
    """Give the result the sizes that it has on padded operands, and trim it along `dims` for its users."""
    padder.resize(op.result, sizes)
    assert op.next_op is not None  # a block has a terminator
    trimmed = padder.trimmed_along(padder.emitter(op.next_op), op.result, dims)
    op.result.replace_uses_with_if(trimmed, lambda use: use.operation is not trimmed.owner)


def _may_be_trimmed(op: window.ConvolutionOp, dim: int, sizes: StaticShape, padder: Padder) -> bool:
    """Return whether the result, computed with `sizes`, may be trimmed along `dim`: a spatial dim that is unsharded."""
    is_spatial = dim in op.dimension_numbers.data.output_spatial_dimensions
    is_larger = sizes[dim] > padder.facts.target_sizes(op.result)[dim]
    return is_spatial and is_larger and padder.facts.shardings.shard_count(op.result, dim) == 1
