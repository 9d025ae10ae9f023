"""The propagation engine: it sweeps over a graph until nothing is pending, for each level and priority.

Each user priority runs the full op-priority schedule once; each level of that schedule runs every strategy; each
strategy is one sweep. Nodes are visited again in the order of the use lists, latest use first, and only if their visit
could change anything. Source: docs/spec/02, 1.3 to 1.11 and 5 to 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sdy.diagnostics.diagnostic import SdyError
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_open
from sdy.propagation.directions import OP_PRIORITIES, DirectionFunction, OpClasses
from sdy.propagation.graph import (
    MISSING,
    NO_RULE,
    PROPAGATING,
    Direction,
    FunctionResult,
    Graph,
    Node,
    NodeKind,
    Numbering,
    Value,
)
from sdy.propagation.step_function import Directions, StepFunction, StepResult
from sdy.propagation.strategies.aggressive import aggressive
from sdy.propagation.strategies.step import PropagationStrategy
from sdy.propagation.strategies.user_strategies import checked_strategy


class Notifier:
    """The nodes to queue when the sharding of a value changes; cached until an op is erased."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[int, tuple[Node, ...]] = {}
        self._around: dict[Node, tuple[Node, ...]] = {}

    def forget(self) -> None:
        """Clear the cache, because use lists have changed."""
        self._known.clear()

    def affected_by(self, value: Value) -> tuple[Node, ...]:
        """Return the nodes to queue, in order, for a change of `value`, which must be a holder."""
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = tuple(filter(_can_have_effect, self._affected(value)))
        return known

    def visited_ancestors(self, node: Node) -> tuple[Node, ...]:
        """Return the ancestors of `node` that a visit could change, innermost first."""
        parent = node.parent
        if parent is None:
            return ()
        known = self._around.get(parent)
        if known is None:
            own = (parent,) if _can_have_effect(parent) else ()
            known = self._around[parent] = own + self.visited_ancestors(parent)
        return known

    def _affected(self, value: Value) -> list[Node]:
        found: list[Node] = []
        owner = value.owner
        if owner is not None:
            for linked in owner.linked_values:
                self._add_users(linked, found, set())
            found.append(owner)
        self._add_users(value, found, set())
        return found

    def _add_users(self, value: Value, found: list[Node], seen: set[int]) -> None:
        if id(value) in seen:  # a function can return its own argument and be called on its own result
            return
        seen.add(id(value))
        for user, position in value.uses:
            edge = user.feeds.get(position) if user.feeds else None
            if edge is not None:
                found.append(edge)
            elif user.kind is NodeKind.TERMINATOR:
                if user.parent is not None:
                    found.append(user.parent)
            elif user.kind is NodeKind.RETURN:
                for call in self._graph.callers.get(user, ()):
                    self._add_users(call.results[position], found, seen)
            elif user.kind is NodeKind.CALL:
                self._add_users(self._graph.callees[user][position], found, seen)
            else:
                found.append(user)


def _can_have_effect(node: Node) -> bool:
    """Return whether a visit of `node` can have an effect: it propagates, or erasing it frees operands or inner ops."""
    return node.kind in PROPAGATING or (node.is_erasable and bool(node.operands or node.children))


class StaleNodes:
    """Two flags per node, by node index.

    A node is *live* once some tensor of it is sharded: before that, no axis can propagate through it. A node is *stale*
    if a visit could have an effect now: it is live and something changed since its last visit, or it is dead and
    waits to be erased.
    """

    def __init__(self, graph: Graph) -> None:
        self.flags = bytearray(len(graph.nodes))  # whether each node is stale
        self._live = bytearray(len(graph.nodes))
        self._is_sharded: dict[int, bool] = {MISSING: False}  # by number of a sharding
        self._sharding_of: Callable[[int], TensorSharding] = graph.shardings.value
        for node in graph.nodes:
            if node.is_dead:
                self.flags[node.index] = 1
        for holder in graph.holders:
            if holder.sharding != MISSING:
                self.mark_users_of(holder)
        for node in graph.nodes:
            if node.boundary is not None:  # sources see manual axes that the stored sharding does not have
                self._live[node.index] = self.flags[node.index] = 1

    def mark_users_of(self, holder: Value) -> None:
        """Mark the nodes that have `holder` among their tensors, whose sharding has changed."""
        stale, live = self.flags, self._live
        is_sharded = self._is_sharded.get(holder.sharding)
        if is_sharded is None:
            is_sharded = not self._sharding_of(holder.sharding).is_fully_replicated
            self._is_sharded[holder.sharding] = is_sharded
        nodes = [user for user, _ in holder.uses]
        if holder.owner is not None:
            nodes.append(holder.owner)
        for node in (*nodes, *holder.other_nodes):
            if is_sharded and node.rule != NO_RULE:
                live[node.index] = stale[node.index] = 1
            elif live[node.index]:
                stale[node.index] = 1

    def mark_classes(self, changed: set[int], class_of_node: Sequence[int]) -> None:
        """Mark the live nodes of the `changed` op classes."""
        stale = self.flags
        for index, (op_class, is_live) in enumerate(zip(class_of_node, self._live, strict=True)):
            if is_live and op_class in changed:
                stale[index] = 1

    def mark_if_live(self, node: Node) -> None:
        """Mark the node if it is live. A dead node stays stale."""
        self.flags[node.index] |= self._live[node.index]

    def mark_dead(self, node: Node) -> None:
        """Mark a node that has become dead, so that it is visited and erased."""
        self.flags[node.index] = 1

    def clear(self, node: Node) -> None:
        """Record that a visit of the node has no effect until something changes."""
        self.flags[node.index] = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """The strategies and op-priority levels of a propagation. Each strategy gets its own sweep at every level."""

    strategies: tuple[PropagationStrategy, ...] = (aggressive,)
    levels: tuple[DirectionFunction, ...] = OP_PRIORITIES
    conservative: bool = False
    until_stable: bool = False  # whether nodes that Shardy's sweeps miss are visited at the end


OnUpdate = Callable[[Node | FunctionResult, StepResult], None]


class Engine:
    """The propagation of shardings over a graph, in place.

    `on_update` is called after each step that changed something, at an op or at a result of the main function.
    """

    def __init__(
        self,
        graph: Graph,
        schedule: Schedule | None = None,
        on_update: OnUpdate | None = None,
    ) -> None:
        self._graph = graph
        self._schedule = schedule or Schedule()
        self._on_update = on_update
        self._notifier = Notifier(graph)
        self._direction_numbers: Numbering[Directions] = Numbering()
        self._steps = {
            strategy: StepFunction(
                checked_strategy(strategy), graph.meshes, graph.rules, graph.shardings, self._direction_numbers
            )
            for strategy in self._schedule.strategies
        }
        self._step = self._steps[self._schedule.strategies[0]]
        self._classes = OpClasses(graph, self._schedule.levels, self._direction_numbers)
        self._directions: list[int] = []  # number of the directions of each op class, at the current level
        self._worklist: Worklist | None = None
        self._dead = {node for node in graph.nodes if node.is_dead}
        self._stale = StaleNodes(graph)
        self._changes = 0  # of shardings so far
        self.failed_at: Node | None = None  # the op at which a strategy raised an error

    def run(self) -> None:
        """Run all levels, each with all strategies. Shardings accumulate."""
        for level in range(len(self._schedule.levels)):
            for strategy in self._schedule.strategies:
                self._start_level(level, self._steps[strategy])
                self._sweep()

    def finish(self) -> None:
        """Visit the nodes that the sweeps missed, until no visit has an effect, if the schedule asks for it.

        Like Shardy, a sweep does not queue the edges of a function that is called in a loop when an argument of the
        loop changes.
        """
        if not self._schedule.until_stable:
            return
        before = -1
        while before != self._changes and any(self._stale.flags):
            before = self._changes
            self._sweep()

    def _start_level(self, level: int, step: StepFunction) -> None:
        """Visit again the nodes for which another strategy, or other directions, could have an effect."""
        before, now = self._directions, self._classes.directions_at(level)
        if step is not self._step:
            before = []
        changed = {number for number, directions in enumerate(now) if [directions] != before[number : number + 1]}
        self._stale.mark_classes(changed, self._classes.of_node)
        self._step, self._directions = step, now

    def assign(self, holder: Value, sharding: int) -> None:
        """Change the sharding of `holder`, without queueing any node; the nodes that use it become stale.

        If no result of its op has a sharding yet, all other results become open.
        """
        if holder.sharding == MISSING and all(sibling.sharding == MISSING for sibling in holder.siblings):
            # A list of shardings is created with an entry for every value.
            mesh = self._graph.shardings.value(sharding).mesh
            for sibling in holder.siblings:
                if sibling is not holder:
                    self._set(sibling, self._graph.shardings.number(fully_open(mesh, sibling.rank)))
        self._set(holder, sharding)

    def _set(self, holder: Value, sharding: int) -> None:
        if sharding != holder.sharding:
            holder.sharding = sharding
            holder.is_changed = True
            self._changes += 1
            self._stale.mark_users_of(holder)

    def _sweep(self) -> None:
        self._propagate_function_results()
        self._worklist = Worklist(self._graph.nodes, self._stale.flags)
        for node in self._worklist:
            if node in self._dead:
                self._erase(node)
            else:
                self._visit(node)
        self._worklist = None
        self._propagate_function_results()

    def _propagate_function_results(self) -> None:
        """Propagate between each result attribute of the main function and the returned value, without queueing any
        node.
        """
        for result in self._graph.main_results:
            tensors = (result.returned.holder, result.holder)
            rule = self._graph.rules.value(result.rule)
            numbers = tuple(MISSING if holder is None else holder.sharding for holder in tensors)
            directions = self._direction_numbers.number((Direction.BOTH,) * len(rule.factor_sizes))
            outcome = self._step(result.rule, numbers, directions, is_elementwise=False, conservative=False)
            for index, number in outcome.updates:
                holder = tensors[index]
                if holder is not None:
                    self.assign(holder, number)
                    for other in holder.grouped_holders:
                        self.assign(other, number)
            if self._on_update is not None and outcome.updates:
                self._on_update(result, outcome)

    def _visit(self, node: Node) -> None:
        directions = self._directions[self._classes.of_node[node.index]]
        conservative = self._schedule.conservative and node.kind is NodeKind.RULE
        shardings = self._tensor_shardings(node)
        try:
            outcome = self._step(node.rule, shardings, directions, node.is_elementwise, conservative)
        except SdyError:
            self.failed_at = node
            raise
        if not outcome.updates:
            self._stale.clear(node)
            return
        for index, number in outcome.updates:
            self._store(node, index, number)
        if self._on_update is not None:
            self._on_update(node, outcome)

    def _tensor_shardings(self, node: Node) -> tuple[int, ...]:
        """Return the numbers of the shardings of the node's tensors; for an edge, the result sharding as its sources
        see it.
        """
        numbers = tuple([MISSING if holder is None else holder.sharding for holder in node.tensors])
        if node.boundary is None or numbers[-1] == MISSING:
            return numbers
        shardings = self._graph.shardings
        return (*numbers[:-1], shardings.number(node.boundary.seen_by_sources(shardings.value(numbers[-1]))))

    def _store(self, node: Node, index: int, number: int) -> None:
        holder = node.tensors[index]
        if holder is None:  # an argument of a reducer's body, which cannot store a sharding
            return
        if node.boundary is not None and index == len(node.tensors) - 1:
            shardings = self._graph.shardings
            number = shardings.number(node.boundary.stored(shardings.value(number)))
        self.assign(holder, number)
        self._queue(node, holder)
        for other in holder.grouped_holders:
            self.assign(other, number)
            self._queue(node, other)

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
        """Erase a dead op, inner ops first, and queue the ops whose results had their last use in it."""
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
                self._stale.mark_dead(value.owner)
            for user, _ in value.uses:
                # `value` has fewer uses now, which may change the directions of its other users.
                self._classes.reclassify(user)
                self._stale.mark_if_live(user)
        node.is_erased = True
        self._graph.erased.append(node)
        self._notifier.forget()


def _other_users(value: Value, node: Node) -> int:
    return len({id(user) for user, _ in value.uses if user is not node})


class Worklist:
    """One sweep over the nodes of a graph, in pre-order, with revisits. Its order decides conflicts.

    Every node is visited once in pre-order. A node to revisit is pushed on a stack that is served first, unless its
    first visit is still pending. Source: docs/spec/02, 1.5.

    `stale` has a 1 for each node whose visit could change anything. The others are skipped in bulk, but count as
    pending until the cursor has passed them.
    """

    def __init__(self, nodes: list[Node], stale: bytearray) -> None:
        self._nodes = nodes
        self._stale = stale
        self._cursor = 0  # nodes from this index on are still pending
        self._stack: list[Node] = []
        self._on_stack: set[int] = set()

    def push(self, node: Node) -> None:
        """Visit `node` next, unless it is pending already; then its position does not change."""
        if node.index < self._cursor and node.index not in self._on_stack:
            self._stack.append(node)
            self._on_stack.add(node.index)

    def __iter__(self) -> Iterator[Node]:
        """Yield the nodes to visit, in order, until none is pending; skip nodes that are erased or not stale."""
        nodes, stale, stack = self._nodes, self._stale, self._stack
        while True:
            while stack:
                node = stack.pop()
                self._on_stack.discard(node.index)
                if stale[node.index] and not node.is_erased:
                    yield node
            found = stale.find(1, self._cursor)
            if found < 0:
                self._cursor = len(nodes)
                return
            self._cursor = found + 1
            if not nodes[found].is_erased:
                yield nodes[found]
