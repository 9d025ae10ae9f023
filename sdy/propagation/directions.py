"""Op priorities: the direction in which each factor of an op propagates, level by level.

At level n, the direction of a factor is the union of the contributions of levels 0 to n; at level 4, every factor
propagates both ways. Source: docs/spec/02, 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from sdy.model.rule import FactorIndex, FactorKind, OpShardingRule
from sdy.propagation.graph import Direction, PassThrough


@dataclass(frozen=True, slots=True)
class OpTraits:
    """The properties of an op, apart from the factor, that op priorities depend on.

    `is_multi_use` tells whether an operand that is not a scalar has several uses.
    """

    pass_through: PassThrough
    is_multi_use: bool
    has_rule_attribute: bool = True  # False for edges, all of whose factors count as pass-through


DirectionFunction = Callable[[OpTraits, FactorKind], Direction]
Kinds = tuple[FactorKind | None, ...]  # one per factor, None for blocked ones


def single_use_pass_through(op: OpTraits, _kind: FactorKind) -> Direction:
    """Level 0: ops that keep the layout of their operand, if the operand has no other use."""
    is_multi_use = op.is_multi_use or op.pass_through is PassThrough.BOTH_AS_SEVERAL_OPS
    return Direction.NONE if is_multi_use else any_use_pass_through(op, _kind)


def any_use_pass_through(op: OpTraits, _kind: FactorKind) -> Direction:
    """Level 1: like level 0, but with any number of uses of the operand."""
    if op.pass_through in (PassThrough.BOTH, PassThrough.BOTH_AS_SEVERAL_OPS):
        return Direction.BOTH
    return Direction.FORWARD if op.pass_through is PassThrough.FORWARD else Direction.NONE


def pass_through_factors(op: OpTraits, kind: FactorKind) -> Direction:
    """Level 2: the pass-through factors of every op."""
    if op.has_rule_attribute and kind is not FactorKind.PASS_THROUGH:
        return Direction.NONE
    return all_factors(op, kind)


def all_factors(op: OpTraits, _kind: FactorKind) -> Direction:
    """Level 3: every factor, except that a broadcast only propagates backward."""
    return Direction.BACKWARD if op.pass_through is PassThrough.BROADCAST else Direction.BOTH


def everything(_op: OpTraits, _kind: FactorKind) -> Direction:
    """Level 4, and the only level of propagation without op priorities: every factor both ways."""
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
    """Return the kind of each factor of `rule`; None for blocked factors, which never propagate."""
    factors = map(FactorIndex, range(len(rule.factor_sizes)))
    return tuple(None if factor in rule.blocked else rule.kind(factor) for factor in factors)


def factor_directions(levels: tuple[DirectionFunction, ...], op: OpTraits, kinds: Kinds) -> tuple[Direction, ...]:
    """Return the direction of each factor as the union of the contributions of all `levels`."""
    by_kind: dict[FactorKind | None, Direction] = {None: Direction.NONE}
    for kind in kinds:
        if kind is not None and kind not in by_kind:
            by_kind[kind] = reduce(lambda one, other: Direction(one | other), (level(op, kind) for level in levels))
    return tuple(by_kind[kind] for kind in kinds)
