"""Op priorities: the direction in which each factor of an op propagates, level by level.

At level n, the direction of a factor is the union of the contributions of levels 0 to n; at level 4, every factor
propagates both ways. A program has thousands of nodes but only a few hundred classes of nodes that always propagate in
the same directions, so directions are computed per class and level. Source: docs/spec/02, 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from sdy.model.rule import FactorIndex, FactorKind, OpShardingRule
from sdy.propagation.graph import Direction, Graph, Node, NodeKind, Numbering, PassThrough
from sdy.propagation.step_function import Directions


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


@dataclass(frozen=True, slots=True)
class _OpClass:
    """The properties that determine the directions of a node; `fixed` is the direction of a barrier."""

    rule: int
    traits: OpTraits
    fixed: Direction | None


class OpClasses:
    """The classes of the nodes of a graph: `of_node` has the class of each node by its index, -1 without a rule."""

    def __init__(self, graph: Graph, levels: tuple[DirectionFunction, ...], directions: Numbering[Directions]) -> None:
        self._graph = graph
        self._levels = levels
        self._directions = directions
        self._classes: Numbering[_OpClass] = Numbering()
        self._at_level: list[list[int]] = [[] for _ in levels]
        self._numbers: dict[tuple[OpTraits, Direction | None, Kinds], list[int]] = {}
        self._known: dict[tuple[object, ...], int] = {}
        self.of_node = [self._class_of(node) for node in graph.nodes]

    def reclassify(self, node: Node) -> None:
        """Update the class of `node`, whose operands have lost uses."""
        self.of_node[node.index] = self._class_of(node)

    def directions_at(self, level: int) -> list[int]:
        """Return the number of the directions of each class at `level`. The list grows as classes are added."""
        return self._at_level[level]

    def _class_of(self, node: Node) -> int:
        if node.rule < 0:
            return -1
        is_multi_use = False
        for value in node.operands:
            if len(value.uses) != 1 and not value.is_scalar_tensor:
                is_multi_use = True
                break
        key = (node.rule, node.kind, node.pass_through, is_multi_use, node.direction)
        known = self._known.get(key)
        if known is None:
            fixed = node.direction if node.kind is NodeKind.BARRIER else None
            traits = OpTraits(node.pass_through, is_multi_use, node.kind is NodeKind.RULE)
            known = self._known[key] = self._add(_OpClass(node.rule, traits, fixed))
        return known

    def _add(self, op_class: _OpClass) -> int:
        number = self._classes.number(op_class)
        if number == len(self._at_level[0]):
            kinds = kinds_of(self._graph.rules.value(op_class.rule))
            key = (op_class.traits, op_class.fixed, kinds)
            numbers = self._numbers.get(key)
            if numbers is None:
                numbers = self._numbers[key] = self._numbers_of(*key)
            for at_level, directions in zip(self._at_level, numbers, strict=True):
                at_level.append(directions)
        return number

    def _numbers_of(self, traits: OpTraits, fixed: Direction | None, kinds: Kinds) -> list[int]:
        """Return the number of the directions at each level."""
        if fixed is not None:
            return [self._directions.number((fixed,) * len(kinds))] * len(self._levels)
        levels_so_far = [self._levels[:count] for count in range(1, len(self._levels) + 1)]
        return [self._directions.number(factor_directions(levels, traits, kinds)) for levels in levels_so_far]
