"""Rules of ops that read, write or join slices of tensors.

Source: docs/spec/03, 5.9, 5.13, 5.14 and 5.18; conservative mode: docs/spec/03, 8.
"""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import ConstantOp as ShardedConstantOp
from sdy.dialects.stablehlo import slicing as ops
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules.tensors import operand_and_result_ranks, shape_or_empty

RULES = OpTable[OpShardingRule | None]()
BY_MODE = OpTable[OpShardingRule | None, [bool]]()


@BY_MODE.of(ops.SliceOp)
def slice_(op: ops.SliceOp, is_conservative: bool) -> OpShardingRule:
    """`([i, j]) -> ([i, j])`; along a dim whose size changes, elements move to neighbouring shards.

    If `is_conservative`, nothing propagates along such a dim.
    """
    builder = RuleBuilder(*operand_and_result_ranks(op))
    return builder.pointwise_where_equal(
        shape_or_empty(op.operand), shape_or_empty(op.result), FactorKind.PERMUTATION, is_blocked=is_conservative
    ).build()


@BY_MODE.of(ops.PadOp)
def pad(op: ops.PadOp, is_conservative: bool) -> OpShardingRule:
    """`([i, j], []) -> ([i, j])`; along a padded dim, elements move to neighbouring shards.

    If `is_conservative`, nothing propagates along a dim whose size changes.
    """
    builder = RuleBuilder(*operand_and_result_ranks(op))
    amounts = (op.edge_padding_low, op.edge_padding_high, op.interior_padding)
    shapes = shape_or_empty(op.operand), shape_or_empty(op.result)
    for dim, (size, padded) in enumerate(zip(*shapes, strict=True)):
        # Elements also move where a negative amount on one side keeps the size.
        is_padded = any(each.get_values()[dim] for each in amounts)
        kind = FactorKind.PERMUTATION if is_padded else FactorKind.PASS_THROUGH
        builder.spread(dim, size, kind, is_blocked=is_conservative and size != padded)
    return builder.build()


@RULES.of(ops.DynamicSliceOp)
def dynamic_slice(op: ops.DynamicSliceOp) -> OpShardingRule:
    """`([i, j], [], []) -> ([i, j])`; a sliced dim needs replication, and nothing propagates along it."""
    builder = RuleBuilder(*operand_and_result_ranks(op))
    return builder.pointwise_where_equal(
        shape_or_empty(op.operand), shape_or_empty(op.result), FactorKind.NEED_REPLICATION, is_blocked=True
    ).build()


@RULES.of(ops.DynamicUpdateSliceOp)
def dynamic_update_slice(op: ops.DynamicUpdateSliceOp) -> OpShardingRule:
    """`([i, j], [i, k], [], []) -> ([i, j])`; the update needs replication along k unless all starts are constants."""
    builder = RuleBuilder(*operand_and_result_ranks(op))
    is_fixed = all(isinstance(start.owner, ConstantOp | ShardedConstantOp) for start in op.start_indices)
    kind = FactorKind.PASS_THROUGH if is_fixed else FactorKind.NEED_REPLICATION
    scalars = (None,) * len(op.start_indices)
    for dim, (size, update) in enumerate(zip(shape_or_empty(op.operand), shape_or_empty(op.update), strict=True)):
        if size == update:
            builder.spread(dim, size)
        else:
            builder.factor(size, operands=(dim, None, *scalars), results=(dim,))
            builder.factor(update, operands=(None, dim, *scalars), results=(None,), kind=kind)
    return builder.build()


@BY_MODE.of(ops.ConcatenateOp)
def concatenate(op: ops.ConcatenateOp, is_conservative: bool) -> OpShardingRule:
    """`([i, j], [i, j]) -> ([i, j])`; slices of one tensor permute, other operands need replication along j.

    If `is_conservative`, the concatenated dim shares no factor: `([i, j], [i, k]) -> ([i, l])`.
    """
    builder = RuleBuilder(*operand_and_result_ranks(op))
    kind = FactorKind.PERMUTATION if _joins_slices(op) else FactorKind.NEED_REPLICATION
    for dim, size in enumerate(shape_or_empty(op.result)):
        if dim != op.dimension.value.data:
            builder.spread(dim, size)
        elif not is_conservative:
            builder.spread(dim, size, kind)
    return builder.build()


def _joins_slices(op: ops.ConcatenateOp) -> bool:
    """Return whether all operands are slices, or all are one tensor and at least one slice of it."""
    sliced = [isinstance(operand.owner, ops.SliceOp) for operand in op.inputs]
    sources = {operand.owner.operand if isinstance(operand.owner, ops.SliceOp) else operand for operand in op.inputs}
    return all(sliced) or (any(sliced) and len(sources) == 1)
