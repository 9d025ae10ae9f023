"""Rules of ops on rows or matrices: the row or matrix dims need replication, the dims before are batch dims.

Source: docs/spec/03, 5.4, 5.7, 5.15, 5.25 and 5.27.
"""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import linalg as ops
from sdy.dialects.stablehlo.attributes.enums import Transpose
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules.tensors import operand_and_result_ranks, shape_or_empty

RULES = OpTable[OpShardingRule | None]()
NEED_REPLICATION = FactorKind.NEED_REPLICATION


@RULES.of(ops.CholeskyOp)
def cholesky(op: ops.CholeskyOp) -> OpShardingRule:
    """`([i, j, k]) -> ([i, j, k])`, where the matrix dims need replication."""
    shape = shape_or_empty(op.a)
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, size in enumerate(shape):
        builder.spread(dim, size, NEED_REPLICATION if dim >= len(shape) - 2 else FactorKind.PASS_THROUGH)
    return builder.build()


@RULES.of(ops.FftOp)
def fft(op: ops.FftOp) -> OpShardingRule:
    """`([i, j]) -> ([i, j])`, where transformed dims need replication; one that changes its size is blocked."""
    shape, result = shape_or_empty(op.operand), shape_or_empty(op.result)
    first, last = len(shape) - len(op.fft_length.get_values()), len(shape) - 1
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, size in enumerate(shape):
        is_resized = dim == last and size != result[dim]
        builder.spread(dim, size, NEED_REPLICATION if dim >= first else FactorKind.PASS_THROUGH, is_blocked=is_resized)
    return builder.build()


@RULES.of(ops.SortOp)
def sort(op: ops.SortOp) -> OpShardingRule:
    """`([i, j], [i, j]) -> ([i, j], [i, j])`, where the sorted dim needs replication.

    Propagation along the sorted dim is blocked if no other dim can be sharded. A negative dimension matches no dim, as
    in Shardy.
    """
    shape = shape_or_empty(op.inputs[0])
    sorted_dim = op.dimension.value.data
    is_alone = all(size == 1 for dim, size in enumerate(shape) if dim != sorted_dim)
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, size in enumerate(shape):
        if dim == sorted_dim:
            builder.spread(dim, size, NEED_REPLICATION, is_blocked=is_alone)
        else:
            builder.spread(dim, size)
    return builder.build()


@RULES.of(ops.BatchNormInferenceOp)
def batch_norm_inference(op: ops.BatchNormInferenceOp) -> OpShardingRule:
    """`([i, j], [j], [j], [j], [j]) -> ([i, j])`, where j is the feature dim."""
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, size in enumerate(shape_or_empty(op.operands[0])):
        feature = 0 if dim == op.feature_index.value.data else None
        builder.factor(size, operands=(dim, *(feature,) * 4), results=(dim,))
    return builder.build()


@RULES.of(ops.TriangularSolveOp)
def triangular_solve(op: ops.TriangularSolveOp) -> OpShardingRule:
    """`([b, i, k], [b, i, j]) -> ([b, k, j])` for a left-sided solve, where the matrix dims need replication."""
    return rule_of_triangular_solve(op, NEED_REPLICATION)


def rule_of_triangular_solve(op: ops.TriangularSolveOp, systems: FactorKind) -> OpShardingRule:
    """Return the rule in which the factor of the systems of equations has the given kind: columns in a left solve."""
    a, b = shape_or_empty(op.a), shape_or_empty(op.b)
    rows, columns = len(a) - 2, len(a) - 1
    is_transposed = op.transpose_a.data in (Transpose.TRANSPOSE, Transpose.ADJOINT)
    row_dim, column_dim = (columns, rows) if is_transposed else (rows, columns)
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim in range(rows):
        builder.spread(dim, a[dim])
    if op.left_side.value.data:
        builder.factor(a[row_dim], operands=(row_dim, rows), results=(None,), kind=NEED_REPLICATION)
        builder.factor(b[columns], operands=(None, columns), results=(columns,), kind=systems)
        builder.factor(a[column_dim], operands=(column_dim, None), results=(rows,), kind=NEED_REPLICATION)
    else:
        builder.factor(b[rows], operands=(None, rows), results=(rows,), kind=systems)
        builder.factor(a[column_dim], operands=(column_dim, columns), results=(None,), kind=NEED_REPLICATION)
        builder.factor(a[row_dim], operands=(row_dim, None), results=(columns,), kind=NEED_REPLICATION)
    return builder.build()
