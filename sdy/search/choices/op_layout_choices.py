"""The ways to shard each op between which a cost network chooses: all, or those that place only some axes anew.

An op with four factors has five places for each mesh axis, so there are 125 ways with three axes and 3,125 with five.
On meshes of many axes, the search therefore places a few axes at a time, and the others stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from sdy.model.numbered_digits import DigitTuple
from sdy.partitioner.layout_search.node import Assignment, LayoutNodeKind, OpLayout, distributions


@dataclass(frozen=True, slots=True)
class OpLayoutChoices:
    """The choices for the nodes of a graph: `free` axes may be anywhere, the others are where `op_layouts` has them.

    Without `op_layouts`, no op uses the other axes. The axes of `required`, by node, are always kept. The axes of one
    factor have the order of `order`.
    """

    free: DigitTuple
    order: DigitTuple
    op_layouts: Sequence[OpLayout] | None = None
    required: Mapping[int, OpLayout] = field(default_factory=dict[int, OpLayout])
    _known: dict[tuple[int, DigitTuple, Assignment], tuple[OpLayout, ...]] = field(
        default_factory=dict[tuple[int, DigitTuple, Assignment], tuple[OpLayout, ...]]
    )  # by the id() of the kind, which the graph keeps alive

    @staticmethod
    def all(axes: DigitTuple) -> OpLayoutChoices:
        """Return the choices with which each of all axes, in this order, may be anywhere."""
        return OpLayoutChoices(axes, axes)

    def of(self, number: int, kind: LayoutNodeKind) -> tuple[OpLayout, ...]:
        """Return the choices for the node of this number; a linear op may also take partial operands."""
        required = self.required.get(number)
        kept = set[int]() if required is None else {digit for digits in required.assignment.factors for digit in digits}
        free = tuple(digit for digit in self.free if digit not in kept)
        own = required if self.op_layouts is None else self.op_layouts[number]
        fixed = kind.assignment({}) if own is None else _without(own.assignment, free)
        key = id(kind), free, fixed
        if key not in self._known:
            self._known[key] = tuple(self._op_layouts(kind, free, fixed))
        return self._known[key]

    def _op_layouts(self, kind: LayoutNodeKind, free: DigitTuple, fixed: Assignment) -> Iterator[OpLayout]:
        """Yield the op layouts with the axes of an assignment, and with each free axis at any place."""
        rank = self.order.index
        partial_sets = (fixed.partial_operands,) if fixed.partial else kind.partial_sets
        for count in range(len(free) + 1 if partial_sets else 1):
            for partial in combinations(free, count):
                groups = tuple((digit,) for digit in free if digit not in partial)
                for dealt in distributions(groups, kind.free_factors()):
                    factors = tuple(
                        tuple(sorted((*own, *dealt.get(factor, ())), key=rank))
                        for factor, own in enumerate(fixed.factors)
                    )
                    all_partial = tuple(sorted((*fixed.partial, *partial)))
                    for partial_operands in partial_sets if all_partial else ((),):
                        op_layout = kind.op_layout(Assignment(factors, all_partial, partial_operands))
                        if op_layout is not None:
                            yield op_layout


def _without(assignment: Assignment, free: DigitTuple) -> Assignment:
    """Return an assignment without some axes."""
    factors = tuple(tuple(digit for digit in digits if digit not in free) for digits in assignment.factors)
    partial = tuple(digit for digit in assignment.partial if digit not in free)
    return Assignment(factors, partial, assignment.partial_operands if partial else ())
