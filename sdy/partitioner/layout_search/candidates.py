"""Generate assignments for a node: those that match its neighbours, or all of them for a contraction or a reshape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

from sdy.model.mesh_digits import DigitTuple
from sdy.partitioner.layout_search.deliveries import Needs
from sdy.partitioner.layout_search.layout import Layout, used
from sdy.partitioner.layout_search.node import Assignment, LayoutNodeKind, OpLayout, PartialOperands, merged
from sdy.partitioner.layout_search.state import SearchState

MAX_ASSIGNMENTS = 512  # of an op; if there are more, the digits of a mesh axis stay together


def candidates(state: SearchState, number: int, alone: SingleNodeChange) -> Iterator[OpLayout]:
    """Yield op layouts of a node, other than its current one. `alone` is of that node."""
    node = state.graph.nodes[number]
    for assignment in dict.fromkeys(_candidate_assignments(state, number, alone)):
        op_layout = node.kind.op_layout(assignment)
        if op_layout is not None and assignment != node.op_layout.assignment:
            yield op_layout


def _candidate_assignments(state: SearchState, number: int, alone: SingleNodeChange) -> Iterator[Assignment]:
    node = state.graph.nodes[number]
    partial_sets = [
        (operands, partial)
        for operands in node.kind.partial_sets
        for partial in _partial_digits(state, number, operands)
    ]
    bases = [node.op_layout.assignment]
    if state.patterns.recut:
        bases += dict.fromkeys(_resharded(state, number, alone))
    for base in bases:
        yield Assignment(base.factors)
        if state.patterns.delay:
            for operands, partial in partial_sets:
                yield Assignment(base.factors, partial, operands)


def _partial_digits(state: SearchState, number: int, partial_operands: PartialOperands) -> set[DigitTuple]:
    """Return the tuples of digits along which these operands are partial."""
    values = state.graph.nodes[number].values
    pairs = zip(values, partial_operands, strict=False)
    unreduced = (state.layout(value).unreduced for value, is_partial in pairs if is_partial)
    return {digits for digits in unreduced if digits}


def _resharded(state: SearchState, number: int, alone: SingleNodeChange) -> Iterator[Assignment]:
    """Yield assignments with other factor axes, and without partial operands."""
    node = state.graph.nodes[number]
    kind = node.kind
    own = dict(enumerate(node.op_layout.assignment.factors))
    yield kind.assignment({})
    projected = (kind.project(index, layout) for index, layout in dict.fromkeys(_neighbours(state, number)))
    seen = {tuple(sorted(digits.items())): digits for digits in projected if digits is not None}.values()
    for factor_digits in seen:
        yield kind.assignment(factor_digits)
        for other in (own, *seen):
            yield kind.assignment(merged(factor_digits, other))
    if kind.rule.reduction or node.flops or kind.has_compound_dims:
        shares = state.patterns.share and not _is_only_scattered(state, number)
        digits = range(len(state.digits.sizes)) if shares else sorted(_digits_around(state, number))
        for op_layout in all_op_layouts(kind, state, digits):
            if not state.resources.computes_more(number, op_layout) and alone.least_change(op_layout) < 0:
                yield op_layout.assignment


def _is_only_scattered(state: SearchState, number: int) -> bool:
    """Return whether the result of a node needs only a reduce-scatter, which already shares the reduction."""
    values = state.graph.nodes[number].values
    layout, needs = state.layout(values[-1]), state.needs(values[-1])
    pending = set(layout.unreduced)
    return bool(pending) and len(needs) == 1 and all(pending <= used(need.dims) - used(layout.dims) for need in needs)


def _digits_around(state: SearchState, number: int) -> set[int]:
    """Return the digits along which any tensor of a node is sharded or partial, in the node or next to it."""
    layouts = [layout for _, layout in _neighbours(state, number)]
    return {digit for layout in layouts for digit in (*layout.unreduced, *used(layout.dims))}


def all_op_layouts(kind: LayoutNodeKind, state: SearchState, digits: Sequence[int]) -> Sequence[OpLayout]:
    """Return all op layouts of an op with some digits; if there are too many, all that do not split mesh axes."""
    count = len(kind.free_factors()) + 1
    for groups in (tuple((digit,) for digit in digits), state.digits.by_axis(digits)):
        if count ** len(groups) <= MAX_ASSIGNMENTS:
            return kind.op_layouts(groups)
    return ()


def _neighbours(state: SearchState, number: int) -> Iterator[tuple[int, Layout]]:
    """Yield the layouts that producers and users of the tensors of a node use, with the index of the tensor."""
    for index, value in enumerate(state.graph.nodes[number].values):
        yield index, state.layout(value)
        for layout in state.needs(value):
            yield index, layout


# The cost of a value, by the layout that its producer yields and those that its users require.
Cost = Callable[[int, Layout, Needs], float]


class SingleNodeChange:
    """The changes of cost by one node, in a state that does not change meanwhile.

    Many op layouts of a node differ in one tensor only, and the cost of a value depends only on the layouts that the
    node requires for that value.
    """

    def __init__(self, state: SearchState, number: int) -> None:
        self._state = state
        self._number = number
        self._values = [_ValueChange(state, number, value) for value in dict.fromkeys(state.graph.nodes[number].values)]

    def change(self, op_layout: OpLayout) -> float:
        """Return the same as `SearchState.change` for a move of this node only."""
        sent = sum([value.added(op_layout, value.costs, self._state.cost_between) for value in self._values])
        return sent + self._state.resources.held_change({self._number: op_layout})

    def least_change(self, op_layout: OpLayout) -> float:
        """Return a lower bound of `change`. Fast: no transfer is computed."""
        return sum([value.added(op_layout, value.least, self._state.least_cost_between) for value in self._values])


class _ValueChange:
    """A value that the node reads or produces, with its costs by the layouts that the node uses for it."""

    def __init__(self, state: SearchState, node: int, value: int) -> None:
        found = state.graph.values[value]
        self._number = value
        self._cost = state.costs[value]
        self._layouts_of = itemgetter(*{end.position for end in found.ends if end.node == node})
        self._result_index = None if found.producer is None or found.producer.node != node else found.producer.position
        self._operand_indices = [end.position for end in found.users if end.node == node]
        self._layout = state.layout(value)
        self._needs = state.needs(value, but=node)
        self.costs: dict[object, float] = {}
        self.least: dict[object, float] = {}

    def added(self, op_layout: OpLayout, known: dict[object, float], cost: Cost) -> float:
        """Return the change of its cost if the node has this op layout; `known` caches results of `cost`."""
        key = self._layouts_of(op_layout.layouts)
        added = known.get(key)
        if added is None:
            layout = self._layout if self._result_index is None else op_layout.layouts[self._result_index]
            needs = self._needs.union([op_layout.layouts[index] for index in self._operand_indices])
            added = known[key] = cost(self._number, layout, needs) - self._cost
        return added
