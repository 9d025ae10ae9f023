"""Rules of ops that move or repeat elements without computing. Source: docs/spec/03, 5.5, 5.6, 5.22, 5.23 and 5.26.

For a reshape, both shapes are split into factors, which are shared where both shapes agree.

    24 -> 4x6      ([ij])->([i, j])          {i=4, j=6}
    6x10 -> 15x4   ([ij, ln])->([ik, mn])    {i=3, j=2, k=5, l=5, m=2, n=2}
"""

from __future__ import annotations

from math import gcd

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import shape as ops
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.model.shape import StaticShape
from sdy.rules.tensors import operand_and_result_ranks, shape_or_empty


class _ReshapeSide:
    """One of the two shapes: the current dim, its size that is left, and the product of all factors taken so far."""

    def __init__(self, shape: StaticShape) -> None:
        self._shape = shape
        self.dim = 0
        self.left = shape[0] if shape else 1
        self.product = 1

    @property
    def is_exhausted(self) -> bool:
        return self.dim == len(self._shape)

    @property
    def is_at_unit_dim(self) -> bool:
        return not self.is_exhausted and self._shape[self.dim] == 1

    def take(self, size: int) -> int:
        """Take a factor of `size` off the current dim; return that dim."""
        self.left //= size
        self.product *= size
        return self.dim

    def advance(self) -> None:
        """Advance to the next dim."""
        self.dim += 1
        self.left = 1 if self.is_exhausted else self._shape[self.dim]

    def advance_if_done(self) -> None:
        if self.left == 1 and not self.is_exhausted:
            self.advance()


def reshape_rule(operand: StaticShape, result: StaticShape) -> OpShardingRule | None:
    """Return the rule of a reshape between two shapes of equally many elements; None if the shapes have no elements.

    >>> from sdy.model.rule import TensorMapping
    >>> rule = reshape_rule((24,), (4, 6))
    >>> rule and (rule.operands, rule.results, rule.factor_sizes)
    ((((0, 1),),), (((0,), (1,)),), (4, 6))
    """
    if 0 in operand:
        return None
    builder = RuleBuilder((len(operand),), (len(result),))
    ours, theirs = _ReshapeSide(operand), _ReshapeSide(result)
    while not (ours.is_exhausted and theirs.is_exhausted):
        if ours.is_at_unit_dim:
            builder.factor(1, operands=(ours.dim,), results=(None,))
            ours.advance()
        elif theirs.is_at_unit_dim:
            builder.factor(1, operands=(None,), results=(theirs.dim,))
            theirs.advance()
        else:
            _add_factors(builder, ours, theirs)
            ours.advance_if_done()
            theirs.advance_if_done()
    return builder.build()


def _add_factors(builder: RuleBuilder, ours: _ReshapeSide, theirs: _ReshapeSide) -> None:
    common = gcd(ours.left, theirs.left)
    if ours.product != theirs.product:
        _let_catch_up(builder, ours, theirs, common)
    elif common > 1:
        builder.factor(common, operands=(ours.take(common),), results=(theirs.take(common),))
    else:
        # The shapes have no common factor here. They meet again where equally many elements are major to both.
        builder.factor(size := ours.left, operands=(ours.take(size),), results=(None,))
        builder.factor(size := theirs.left, operands=(None,), results=(theirs.take(size),))


def _let_catch_up(builder: RuleBuilder, ours: _ReshapeSide, theirs: _ReshapeSide, common: int) -> None:
    """Add a factor to the shape whose product is smaller."""
    lagging, leading = (ours, theirs) if ours.product < theirs.product else (theirs, ours)
    gap, rest = divmod(leading.product, lagging.product)
    if rest == 0 and lagging.left % gap == 0:
        size = gap
    else:
        size = lagging.left // common if lagging.left > common else lagging.left
    dim = lagging.take(size)
    if lagging is ours:
        builder.factor(size, operands=(dim,), results=(None,))
    else:
        builder.factor(size, operands=(None,), results=(dim,))


RULES = OpTable[OpShardingRule | None]()


@RULES.of(ops.BroadcastInDimOp)
def broadcast_in_dim(op: ops.BroadcastInDimOp) -> OpShardingRule:
    """`([i]) -> ([i, j])`: one factor per result dim. An operand dim of size 1 that is expanded has its own factor."""
    operand, result = shape_or_empty(op.operand), shape_or_empty(op.result)
    source = {target: dim for dim, target in enumerate(op.broadcast_dimensions.get_values())}
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for target, size in enumerate(result):
        dim = source.get(target)
        if dim is not None and operand[dim] == 1 != size:
            builder.factor(1, operands=(dim,), results=(None,))
            dim = None
        builder.factor(size, operands=(dim,), results=(target,))
    return builder.build()


@RULES.of(ops.TransposeOp)
def transpose(op: ops.TransposeOp) -> OpShardingRule:
    """`([j, i]) -> ([i, j])`, with factors in the order of the result dims."""
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for target, dim in enumerate(op.permutation.get_values()):
        builder.factor(shape_or_empty(op.operand)[dim], operands=(dim,), results=(target,))
    return builder.build()


@RULES.of(ops.ReshapeOp)
def reshape(op: ops.ReshapeOp) -> OpShardingRule | None:
    """Dims split and merge along shared factors; none for empty tensors."""
    return reshape_rule(shape_or_empty(op.operand), shape_or_empty(op.result))


@RULES.of(ops.ReverseOp)
def reverse(op: ops.ReverseOp) -> OpShardingRule:
    """`([i, j]) -> ([i, j])`; along a reversed dim, devices exchange shards."""
    reversed_dims = op.dimensions.get_values()
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, size in enumerate(shape_or_empty(op.result)):
        builder.spread(dim, size, FactorKind.PERMUTATION if dim in reversed_dims else FactorKind.PASS_THROUGH)
    return builder.build()


@RULES.of(ops.BitcastConvertOp)
def bitcast_convert(op: ops.BitcastConvertOp) -> OpShardingRule:
    """`([i]) -> ([i, j])`: the dim of the parts of an element, in the operand or in the result, needs replication."""
    operand, result = shape_or_empty(op.operand), shape_or_empty(op.result)
    builder = RuleBuilder(*operand_and_result_ranks(op)).pointwise(min(operand, result, key=len))
    if len(operand) > len(result):
        builder.factor(operand[-1], operands=(len(operand) - 1,), results=(None,), kind=FactorKind.NEED_REPLICATION)
    elif len(result) > len(operand):
        builder.factor(result[-1], operands=(None,), results=(len(result) - 1,), kind=FactorKind.NEED_REPLICATION)
    return builder.build()
