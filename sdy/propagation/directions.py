"""Op priorities: in which direction each factor of an op propagates, level by level.

Source: docs/spec/02, 5. At level n the direction of a factor is the union of what classes 0 to n
contribute; level 4 lets everything propagate both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from sdy.model.rule import FactorIndex, FactorKind, OpShardingRule
from sdy.propagation.graph import Direction, PassThrough


@dataclass(frozen=True, slots=True)
class OpTraits:
    """What op priorities look at, apart from the factor. `is_multi_use`: see `multi_use` of the worklist."""

    pass_through: PassThrough
    is_multi_use: bool
    has_rule_attribute: bool = True  # edges have none: all their factors count as pass-through


DirectionFunction = Callable[[OpTraits, FactorKind], Direction]
Kinds = tuple[FactorKind | None, ...]  # one a factor, None for blocked ones


def single_use_pass_through(op: OpTraits, _kind: FactorKind) -> Direction:
    """Level 0: ops that hand their operand's layout on, where nobody else reads the operand."""
    return Direction.NONE if op.is_multi_use else any_use_pass_through(op, _kind)


def any_use_pass_through(op: OpTraits, _kind: FactorKind) -> Direction:
    """Level 1: as level 0, however many read the operand."""
    if op.pass_through is PassThrough.BOTH:
        return Direction.BOTH
    return Direction.FORWARD if op.pass_through is PassThrough.FORWARD else Direction.NONE


def pass_through_factors(op: OpTraits, kind: FactorKind) -> Direction:
    """Level 2: the pass-through factors of every op."""
    if op.has_rule_attribute and kind is not FactorKind.PASS_THROUGH:
        return Direction.NONE
    return all_factors(op, kind)


def all_factors(op: OpTraits, _kind: FactorKind) -> Direction:
    """Level 3: every factor, but a broadcast only backward."""
    return Direction.BACKWARD if op.pass_through is PassThrough.BROADCAST else Direction.BOTH


def everything(_op: OpTraits, _kind: FactorKind) -> Direction:
    """Level 4, and all of propagation without op priorities."""
    return Direction.BOTH


OP_PRIORITIES: tuple[DirectionFunction, ...] = (
    single_use_pass_through,
    any_use_pass_through,
    pass_through_factors,
    all_factors,
    everything,
)
NO_PRIORITIES: tuple[DirectionFunction, ...] = (everything,)


def kinds_of(rule: OpShardingRule) -> Kinds:
    """The kind of each factor of `rule`; none of blocked ones, which do not propagate whatever their kind."""
    factors = map(FactorIndex, range(len(rule.factor_sizes)))
    return tuple(None if factor in rule.blocked else rule.kind(factor) for factor in factors)


def factor_directions(levels: tuple[DirectionFunction, ...], op: OpTraits, kinds: Kinds) -> tuple[Direction, ...]:
    """The direction of each factor when all of `levels` contribute."""
    found: dict[FactorKind | None, Direction] = {None: Direction.NONE}
    for kind in kinds:
        if kind is not None and kind not in found:
            found[kind] = reduce(lambda one, other: Direction(one | other), (level(op, kind) for level in levels))
    return tuple(found[kind] for kind in kinds)
