"""The engine: sweeps over a graph until nothing is pending, level by level, priority by priority.

User priorities run the whole op-priority schedule once each; a level of that schedule runs every strategy; a
strategy is one sweep. Source: docs/spec/02, 1.3 to 1.11 and 5 to 6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sdy.model.sharding_update import fully_open
from sdy.propagation.directions import OP_PRIORITIES, DirectionFunction
from sdy.propagation.graph import (
    MISSING,
    NO_RULE,
    Direction,
    FunctionResult,
    Graph,
    Node,
    NodeKind,
    Value,
)
from sdy.propagation.manual_boundary import held_by_edge, seen_by_sources
from sdy.propagation.notifier import Notifier
from sdy.propagation.numbering import Numbering
from sdy.propagation.op_classes import OpClasses
from sdy.propagation.step_function import Directions, StepFunction, StepResult
from sdy.propagation.strategies.aggressive import aggressive
from sdy.propagation.strategies.step import PropagationStrategy
from sdy.propagation.worklist import Worklist


@dataclass(frozen=True, slots=True)
class Schedule:
    """What runs, in what order. `strategies` each get a sweep of their own at every level."""

    strategies: tuple[PropagationStrategy, ...] = (aggressive,)
    levels: tuple[DirectionFunction, ...] = OP_PRIORITIES
    conservative: bool = False


class Engine:
    """Propagates the shardings of a graph in place.

    `on_update`, where given, sees each step that changed something, after the change: at an op, or at a result of the
    main function.
    """

    def __init__(
        self,
        graph: Graph,
        schedule: Schedule | None = None,
        on_update: Callable[[Node | FunctionResult, StepResult], None] | None = None,
    ) -> None:
        self._graph = graph
        self._schedule = schedule or Schedule()
        self._on_update = on_update
        self._notifier = Notifier(graph)
        self._direction_numbers: Numbering[Directions] = Numbering()
        self._steps = {
            strategy: StepFunction(strategy, graph.meshes, graph.rules, graph.shardings, self._direction_numbers)
            for strategy in self._schedule.strategies
        }
        self._step = self._steps[self._schedule.strategies[0]]
        self._classes = OpClasses(graph, self._schedule.levels, self._direction_numbers)
        self._directions: list[int] = []  # by class, at the level that runs
        self._worklist: Worklist | None = None
        self._dead = {node for node in graph.nodes if node.is_dead}
        # By index of a node: whether a visit could have an effect, in the sweep that runs; whether an axis is in reach.
        self._stale = bytearray(len(graph.nodes))
        self._live = bytearray(len(graph.nodes))
        self._cuts: dict[int, bool] = {MISSING: False}  # by number of a sharding: whether it cuts a dim
        for node in self._dead:
            self._stale[node.index] = 1
        for holder in graph.holders:
            if holder.sharding != MISSING:
                self._mark_readers(holder)
        for node in graph.nodes:
            if node.boundary is not None:  # sources see manual axes that the edge does not hold
                self._live[node.index] = self._stale[node.index] = 1

    def run(self) -> None:
        """All levels, each with all strategies. Shardings accumulate."""
        for level in range(len(self._schedule.levels)):
            for strategy in self._schedule.strategies:
                self._enter(level, self._steps[strategy])
                self._sweep()

    def _enter(self, level: int, step: StepFunction) -> None:
        """What was of no effect may have one with another strategy, or in other directions."""
        before, now = self._directions, self._classes.directions_at(level)
        if step is not self._step:
            before = []
        changed = {number for number, directions in enumerate(now) if [directions] != before[number : number + 1]}
        stale = self._stale
        for index, (op_class, is_live) in enumerate(zip(self._classes.of_node, self._live, strict=True)):
            if is_live and op_class in changed:
                stale[index] = 1
        self._step, self._directions = step, now

    def assign(self, holder: Value, sharding: int) -> None:
        """Change what is held without queueing anybody."""
        if holder.sharding == MISSING and all(sibling.sharding == MISSING for sibling in holder.siblings):
            # A per-value list comes into being whole.
            mesh = self._graph.shardings.value(sharding).mesh
            for sibling in holder.siblings:
                if sibling is not holder:
                    self._set(sibling, self._graph.shardings.number(fully_open(mesh, sibling.rank)))
        self._set(holder, sharding)

    def _set(self, holder: Value, sharding: int) -> None:
        if sharding != holder.sharding:
            holder.sharding = sharding
            holder.is_changed = True
            self._mark_readers(holder)

    def _mark_readers(self, holder: Value) -> None:
        """Those who read what has changed are stale, as long as some tensor offers them an axis."""
        stale, live = self._stale, self._live
        is_cut = self._is_cut(holder.sharding)
        readers = [user for user, _ in holder.uses]
        if holder.owner is not None:
            readers.append(holder.owner)
        for reader in (*readers, *holder.readers):
            if is_cut and reader.rule != NO_RULE:
                live[reader.index] = stale[reader.index] = 1
            elif live[reader.index]:
                stale[reader.index] = 1

    def _is_cut(self, sharding: int) -> bool:
        known = self._cuts.get(sharding)
        if known is None:
            known = self._cuts[sharding] = not self._graph.shardings.value(sharding).is_fully_replicated
        return known

    def _sweep(self) -> None:
        self._exchange_function_results()
        self._worklist = Worklist(self._graph.nodes, self._stale)
        for node in self._worklist:
            if node in self._dead:
                self._erase(node)
            else:
                self._visit(node)
        self._worklist = None
        self._exchange_function_results()

    def _exchange_function_results(self) -> None:
        """Let each result attribute of the main function and the returned value agree. Nobody is queued."""
        for result in self._graph.main_results:
            tensors = (result.returned.holder, result.holder)
            rule = self._graph.rules.value(result.rule)
            numbers = tuple(MISSING if holder is None else holder.sharding for holder in tensors)
            directions = self._direction_numbers.number((Direction.BOTH,) * len(rule.factor_sizes))
            outcome = self._step(result.rule, numbers, directions, is_elementwise=False, conservative=False)
            for place, number in outcome.updates:
                holder = tensors[place]
                if holder is not None:
                    self.assign(holder, number)
                    for member in _other_members(holder):
                        if member.holder is not None:
                            self.assign(member.holder, number)
            if self._on_update is not None and outcome.updates:
                self._on_update(result, outcome)

    def _visit(self, node: Node) -> None:
        directions = self._directions[self._classes.of_node[node.index]]
        conservative = self._schedule.conservative and node.kind is NodeKind.RULE
        outcome = self._step(node.rule, self._seen(node), directions, node.is_elementwise, conservative)
        if not outcome.updates:
            self._stale[node.index] = 0
            return
        for place, number in outcome.updates:
            self._store(node, place, number)
        if self._on_update is not None:
            self._on_update(node, outcome)

    def _seen(self, node: Node) -> tuple[int, ...]:
        """The shardings of the node's tensors; that of an edge as its sources see it."""
        numbers = tuple([MISSING if holder is None else holder.sharding for holder in node.tensors])
        if node.boundary is None or numbers[-1] == MISSING:
            return numbers
        shardings = self._graph.shardings
        return (*numbers[:-1], shardings.number(seen_by_sources(node.boundary, shardings.value(numbers[-1]))))

    def _store(self, node: Node, place: int, number: int) -> None:
        holder = node.tensors[place]
        if holder is None:  # an argument of a reducer's body: nowhere to keep a sharding
            return
        if node.boundary is not None and place == len(node.tensors) - 1:
            shardings = self._graph.shardings
            number = shardings.number(held_by_edge(node.boundary, shardings.value(number)))
        self.assign(holder, number)
        self._queue(node, holder)
        for member in _other_members(holder):
            if member.holder is not None:
                self.assign(member.holder, number)
                self._queue(node, member.holder)

    def _queue(self, visited: Node, holder: Value) -> None:
        for node in self._notifier.affected_by(holder):
            if node is not visited:
                self._push(node)

    def _push(self, node: Node) -> None:
        assert self._worklist is not None
        self._worklist.push(node)
        for ancestor in self._notifier.visited_ancestors(node):
            self._worklist.push(ancestor)

    def _erase(self, node: Node) -> None:
        """Erase a dead op, the ops inside first, and queue the ops whose results it may have been the last to read."""
        for child in reversed(node.children):
            if not child.is_erased:
                self._erase(child)
        for value in node.operands:
            if value.owner is not None and not value.is_block_argument and _other_users(value, node) <= 1:
                self._push(value.owner)
        for value in node.operands:
            value.uses = [use for use in value.uses if use[0] is not node]
            if value.owner is not None and value.owner.is_dead:
                self._dead.add(value.owner)
                self._stale[value.owner.index] = 1
            for user, _ in value.uses:
                self._reclassify(user)
        node.is_erased = True
        self._graph.erased.append(node)
        self._notifier.forget()

    def _reclassify(self, node: Node) -> None:
        """An operand of `node` has lost a user, which may change the directions at this level and at others."""
        self._classes.reclassify(node)
        self._stale[node.index] |= self._live[node.index]  # a dead op stays stale


def _other_users(value: Value, node: Node) -> int:
    return len({id(user) for user, _ in value.uses if user is not node})


def _other_members(value: Value) -> Sequence[Value]:
    """The rest of the sharding group of `value`."""
    if value.group is None:
        return ()
    return [member for member in value.group if member is not value]
