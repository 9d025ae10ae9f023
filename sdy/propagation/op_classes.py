"""Classes of nodes that always propagate in the same directions, and the directions of each class.

A program has thousands of nodes but only a few hundred classes, so directions are computed per class and level.
Source: docs/spec/02, 5.
"""

from __future__ import annotations

from dataclasses import dataclass

from sdy.propagation.directions import DirectionFunction, Kinds, OpTraits, factor_directions, kinds_of
from sdy.propagation.graph import Direction, Graph, Node, NodeKind, Numbering
from sdy.propagation.step_function import Directions


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
