"""Sharding rules of ops for which Shardy has none, or one that requires more replication than the op does.

Only the partitioner uses them; propagation does not, apart from `LOWERED_CHLO_RULES`. Source: docs/spec/06, 8.1.
"""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.chlo import elementwise as chlo
from sdy.dialects.chlo.structured import RaggedDotOp, TopKOp
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import control, elementwise, linalg, shape, window
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules import custom_calls
from sdy.rules.all import RULES, has_rule_by_trait
from sdy.rules.elementwise import pointwise
from sdy.rules.linalg import rule_of_triangular_solve
from sdy.rules.tensors import operand_and_result_ranks, shape_or_empty

PARTITIONER_RULES = OpTable[OpShardingRule | None]()
LENIENT_RULES = OpTable[OpShardingRule | None]()  # these replace a rule of Shardy
# Rules for the propagation of programs that XLA would lower to StableHLO first; Shardy itself has none for CHLO.
LOWERED_CHLO_RULES = OpTable[OpShardingRule | None]()
LOWERED_CHLO_RULES.of(*chlo.OPS)(pointwise)
LOWERED_CHLO_RULES.of(TopKOp)(custom_calls.top_k)
PARTITIONER_RULES.of(control.MapOp, *chlo.OPS, *(each for each in elementwise.OPS if each not in RULES))(pointwise)


@PARTITIONER_RULES.of(shape.BroadcastOp)
def broadcast(op: shape.BroadcastOp) -> OpShardingRule:
    """`([j]) -> ([i, j])`: new dims come first."""
    sizes = shape_or_empty(op.result)
    new = len(sizes) - len(shape_or_empty(op.operand))
    builder = RuleBuilder((len(sizes) - new,), (len(sizes),))
    for dim, size in enumerate(sizes):
        builder.factor(size, operands=(dim - new if dim >= new else None,), results=(dim,))
    return builder.build()


@PARTITIONER_RULES.of(linalg.BatchNormTrainingOp, linalg.BatchNormGradOp)
def batch_norm(op: linalg.BatchNormTrainingOp | linalg.BatchNormGradOp) -> OpShardingRule:
    """`([i, j], [j], [j]) -> ([i, j], [j], [j])`: j are the features; all other dims are averaged."""
    ranks = ([len(shape_or_empty(value)) for value in values] for values in (op.operands, op.results))
    builder = RuleBuilder(*ranks)
    for dim, size in enumerate(shape_or_empty(op.operand)):
        is_feature = dim == op.feature_index.value.data
        dims = [
            tuple(dim if len(shape_or_empty(value)) > 1 else 0 if is_feature else None for value in values)
            for values in (op.operands, op.results)
        ]
        builder.factor(size, dims[0], dims[1], FactorKind.PASS_THROUGH if is_feature else FactorKind.NEED_REPLICATION)
    return builder.build()


@PARTITIONER_RULES.of(TopKOp)
def top_k(op: TopKOp) -> OpShardingRule:
    """`([i, j]) -> ([i, k], [i, k])`: the k largest elements are selected from the full last dim."""
    *batch, size = shape_or_empty(op.operand)
    last = len(batch)
    builder = RuleBuilder((last + 1,), (last + 1, last + 1))
    for dim, rows in enumerate(batch):
        builder.spread(dim, rows)
    builder.factor(size, operands=(last,), results=(None, None), kind=FactorKind.NEED_REPLICATION)
    builder.factor(op.k.value.data, operands=(None,), results=(last, last), kind=FactorKind.NEED_REPLICATION)
    return builder.build()


@LOWERED_CHLO_RULES.of(RaggedDotOp)
@PARTITIONER_RULES.of(RaggedDotOp)
def ragged_dot(op: RaggedDotOp) -> OpShardingRule:
    """`([b, m, k], [g, b, k, n], [g]) -> ([b, m, n])`: as `dot_general`, with a matrix for each group of rows m.

    If k is ragged, the result is `[g, b, m, n]`, one product for each group. The sizes of groups count elements of the
    full ragged dim, so each device needs this dim and all groups; a ragged batch dim only repeats the product.
    """
    numbers = op.ragged_dot_dimension_numbers.data
    lhs, rhs, sizes = map(shape_or_empty, op.operands)
    builder = RuleBuilder(*operand_and_result_ranks(op))
    (ragged,) = numbers.lhs_ragged_dimensions
    size_dims = {dim: place for place, dim in enumerate(numbers.dims_with_own_sizes(len(lhs))[: len(sizes) - 1])}
    to_rhs = numbers.rhs_dims()
    is_summed = ragged in numbers.lhs_contracting_dimensions
    group = numbers.rhs_group_dimensions[0] if numbers.rhs_group_dimensions else None
    groups = (None, group, len(sizes) - 1)
    builder.factor(sizes[-1], groups, (0 if is_summed else None,), FactorKind.NEED_REPLICATION)
    free = [dim for dim in range(len(lhs)) if dim not in to_rhs]
    kept = (*numbers.lhs_batching_dimensions, *free)
    for place, dim in enumerate(kept, start=int(is_summed)):
        is_ragged = dim == ragged and dim in free
        kind = FactorKind.NEED_REPLICATION if is_ragged else FactorKind.PASS_THROUGH
        builder.factor(lhs[dim], (dim, to_rhs.get(dim), size_dims.get(dim)), (place,), kind)
    columns = (dim for dim in range(len(rhs)) if dim not in to_rhs.values() and dim != group)
    for place, dim in enumerate(columns, start=int(is_summed) + len(kept)):
        builder.factor(rhs[dim], (None, dim, None), (place,))
    for dim in numbers.lhs_contracting_dimensions:
        kind = FactorKind.NEED_REPLICATION if dim == ragged else FactorKind.REDUCTION
        builder.factor(lhs[dim], (dim, to_rhs[dim], size_dims.get(dim)), (None,), kind)
    return builder.build()


@LENIENT_RULES.of(linalg.TriangularSolveOp)
def columns_of_triangular_solve(op: linalg.TriangularSolveOp) -> OpShardingRule:
    """`([b, i, k], [b, i, j]) -> ([b, k, j])` for a left-sided solve: each column j is a system of its own."""
    return rule_of_triangular_solve(op, FactorKind.PASS_THROUGH)


@LENIENT_RULES.of(window.SelectAndScatterOp)
def tiled_select_and_scatter(op: window.SelectAndScatterOp) -> OpShardingRule | None:
    """`([iw, j], [i, j], []) -> ([iw, j])`, if the windows of size w tile the operand; else None.

    The gradient of max pooling scatters each element of the source to its own window.
    """
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, (size, windows) in enumerate(zip(shape_or_empty(op.operand), shape_or_empty(op.source), strict=True)):
        if not _tiles(op, dim):
            return None
        builder.factor(windows, operands=(dim, dim, None), results=(dim,))
        if size != windows:
            own = (dim, None, None)
            builder.factor(size // windows, own, results=(dim,), kind=FactorKind.NEED_REPLICATION)
    return builder.build()


def own_rule(op: Operation) -> OpShardingRule | None:
    """Return the rule of an op by its class, whatever its attributes say; None if there is none."""
    by_trait = pointwise(op) if has_rule_by_trait(type(op)) else None
    return RULES.get(op) or PARTITIONER_RULES.get(op) or by_trait


def _tiles(op: window.SelectAndScatterOp, dim: int) -> bool:
    """Return whether the windows along `dim` do not overlap and, with the gaps between them, fill the operand."""
    stride, window_size = (
        1 if each is None else ints_of(each)[dim] for each in (op.window_strides, op.window_dimensions)
    )
    is_padded = op.padding is not None and any(op.padding.get_ints()[2 * dim : 2 * dim + 2])
    size, windows = shape_or_empty(op.operand)[dim], shape_or_empty(op.source)[dim]
    return not is_padded and window_size <= stride and size == windows * stride
