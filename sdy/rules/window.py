"""Rules of ops with sliding windows, which read elements of neighbouring shards.

Source: docs/spec/03, 5.10, 5.20 and 5.21; conservative mode: docs/spec/03, 8.
"""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import window as ops
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules.tensors import operand_and_result_ranks, shape_or_empty

BY_MODE = OpTable[OpShardingRule | None, [bool]]()


@BY_MODE.of(ops.ReduceWindowOp)
def reduce_window(op: ops.ReduceWindowOp, is_conservative: bool) -> OpShardingRule:
    """`([i, j], []) -> ([i, j])`, with the sizes of the result; along a dim with a window, elements move.

    If `is_conservative`, nothing propagates along such a dim.
    """
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, size in enumerate(shape_or_empty(op.results[0])):
        if _has_window(op, dim):
            builder.spread(dim, size, FactorKind.PERMUTATION, is_blocked=is_conservative)
        else:
            builder.spread(dim, size)
    return builder.build()


@BY_MODE.of(ops.SelectAndScatterOp)
def select_and_scatter(op: ops.SelectAndScatterOp, is_conservative: bool) -> OpShardingRule:
    """`([i, k], [i, j], []) -> ([i, k])`; along a dim with a window, the source needs replication.

    If `is_conservative`, nothing propagates along such a dim.
    """
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, (size, source) in enumerate(zip(shape_or_empty(op.result), shape_or_empty(op.source), strict=True)):
        if not _has_window(op, dim):
            builder.spread(dim, size)
            continue
        builder.factor(source, (None, dim, None), (None,), FactorKind.NEED_REPLICATION, is_blocked=is_conservative)
        builder.factor(size, (dim, None, None), (dim,), FactorKind.PERMUTATION, is_blocked=is_conservative)
    return builder.build()


def _has_window(op: ops.PoolingOp, dim: int) -> bool:
    """Return whether a window along `dim` covers more than one element, is padded or strided. Dilations are ignored."""
    padding = op.padding.get_ints()[2 * dim : 2 * dim + 2] if op.padding is not None else (0, 0)
    stride = op.window_strides.get_values()[dim] if op.window_strides is not None else 1
    size = op.window_dimensions.get_values()[dim] if op.window_dimensions is not None else 1
    return tuple(padding) != (0, 0) or stride != 1 or size != 1


@BY_MODE.of(ops.ConvolutionOp)
def convolution(op: ops.ConvolutionOp, is_conservative: bool) -> OpShardingRule:
    """`([b, wk, f], [k, f, o]) -> ([b, w, o])`: k and f are reduced; along w, elements move.

    If `is_conservative`, spatial dims share no factors.
    """
    numbers = op.dimension_numbers.data
    result = shape_or_empty(op.result)
    kernel = shape_or_empty(op.rhs)
    batch_groups, feature_groups = op.batch_group_count.value.data, op.feature_group_count.value.data
    kernel_input, kernel_output = numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension
    builder = RuleBuilder(*operand_and_result_ranks(op))
    batch, feature = numbers.input_batch_dimension, numbers.input_feature_dimension
    if batch_groups > 1:
        builder.factor(batch_groups, operands=(batch, kernel_output), results=(numbers.output_feature_dimension,))
    builder.factor(
        result[numbers.output_batch_dimension], operands=(batch, None), results=(numbers.output_batch_dimension,)
    )
    if not is_conservative:
        _add_spatial_factors(builder, op)
    if feature_groups > 1:
        builder.factor(feature_groups, operands=(feature, kernel_output), results=(numbers.output_feature_dimension,))
    builder.factor(kernel[kernel_input], operands=(feature, kernel_input), results=(None,), kind=FactorKind.REDUCTION)
    rest = result[numbers.output_feature_dimension] // (batch_groups * feature_groups)
    if rest > 1:
        builder.factor(rest, operands=(None, kernel_output), results=(numbers.output_feature_dimension,))
    return builder.build()


def _add_spatial_factors(builder: RuleBuilder, op: ops.ConvolutionOp) -> None:
    """Add two factors per spatial dim, for the windows and for the position in a window; the larger one first.

    The dim of the operand may be too small for both; then the other factor belongs to the result or the kernel alone.
    """
    numbers = op.dimension_numbers.data
    lhs, kernel, result = shape_or_empty(op.lhs), shape_or_empty(op.rhs), shape_or_empty(op.result)
    for dim, kernel_dim, result_dim in zip(
        numbers.input_spatial_dimensions,
        numbers.kernel_spatial_dimensions,
        numbers.output_spatial_dimensions,
        strict=True,
    ):
        left = lhs[dim]
        windows_first = result[result_dim] >= kernel[kernel_dim]
        for is_windows in (windows_first, not windows_first):
            own = result[result_dim] if is_windows else kernel[kernel_dim]
            is_shared = min(left, own) > 1
            size = min(left, own) if is_shared else own
            left = left // size if is_shared else left
            if size == 1:
                continue
            operands = (dim if is_shared else None, None if is_windows else kernel_dim)
            is_reduced = is_shared and not is_windows
            kind = FactorKind.REDUCTION if is_reduced else FactorKind.PERMUTATION
            builder.factor(size, operands, (result_dim if is_windows else None,), kind)
