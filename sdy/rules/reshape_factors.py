"""The factors of a reshape: both shapes are split into factors, which are shared where both shapes agree.

Source: docs/spec/03, 5.22.

    24 -> 4x6      ([ij])->([i, j])          {i=4, j=6}
    6x10 -> 15x4   ([ij, ln])->([ik, mn])    {i=3, j=2, k=5, l=5, m=2, n=2}
"""

from __future__ import annotations

from math import gcd

from sdy.model.rule import OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.model.shape import StaticShape


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
