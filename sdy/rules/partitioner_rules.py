"""Sharding rules of ops for which Shardy has none, or one that requires more replication than the op does.

Only the partitioner uses them; propagation does not, apart from `LOWERED_CHLO_RULES`. Source: docs/spec/06, 8.1.
"""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.chlo import elementwise as chlo
from sdy.dialects.chlo.structured import TopKOp
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
