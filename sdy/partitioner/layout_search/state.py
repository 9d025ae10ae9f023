"""Where a search stands: how every op is run, and what each value costs because of it.

A value has the layout in which its op gives it; it is brought from there to one *home*, and from its home to every
layout in which an op wants it. A *move* gives some ops other assignments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sdy.partitioner.layout_search.graph import Graph, Node
from sdy.partitioner.layout_search.layout import Atoms, Layout, Tensor
from sdy.partitioner.layout_search.node import Run
from sdy.partitioner.layout_search.patterns import Patterns
from sdy.partitioner.layout_search.transfer import Transfers

Move = Mapping[int, Run]  # by node
Needs = frozenset[Layout]

NO_MOVE: Move = {}
TIE_BREAK = 1e-4  # bytes sent that a byte held is worth


class Sent(NamedTuple):
    """What each device sends: how much, and in how many collectives, both in all runs."""

    bytes: float
    collectives: int

    def less(self, other: Sent) -> Sent:
        """The difference."""
        return Sent(self.bytes - other.bytes, self.collectives - other.collectives)


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a value gets from its op to its users: by way of its home."""

    price: float
    home: Layout


class State:
    """The assignments of all nodes of a graph, and their costs in bytes. No op may hold more than `most_held` bytes."""

    def __init__(self, graph: Graph, atoms: Atoms, patterns: Patterns, most_held: float) -> None:
        self.graph = graph
        self.atoms = atoms
        self.patterns = patterns
        self._most_held = most_held
        self.transfers = Transfers(atoms, patterns)
        self._deliveries: dict[tuple[Layout, Needs, Tensor], Delivery] = {}
        self._known_held: dict[tuple[int, int, int | None], tuple[Run, float]] = {}
        self._around = [frozenset(end.node for end in value.ends) for value in graph.values]
        self._flops = [self._local_flops(node, node.run) for node in graph.nodes]
        self.costs = [self._cost(value) for value in range(len(graph.values))]

    @property
    def mean_cost(self) -> float:
        """The bytes that a value costs which is sent at all, on average over all times that it is."""
        times = sum(value.times for value, cost in zip(self.graph.values, self.costs, strict=True) if cost)
        return sum(self.costs) / times if times else 0.0

    def layouts(self, node: int, move: Move = NO_MOVE) -> tuple[Layout, ...]:
        """Of the tensors of a node."""
        return (move[node] if node in move else self.graph.nodes[node].run).layouts

    def layout(self, value: int, move: Move = NO_MOVE) -> Layout:
        """In which a value is given."""
        given = self.graph.values[value]
        if given.maker is None:
            return given.layout
        node, place = given.maker
        return (move[node] if node in move else self.graph.nodes[node].run).layouts[place]

    def needs(self, value: int, move: Move = NO_MOVE) -> Needs:
        """In which a value is wanted."""
        wanted, nodes = self.graph.values[value], self.graph.nodes
        layouts = [(move[node] if node in move else nodes[node].run).layouts[place] for node, place in wanted.readers]
        return frozenset((*wanted.fixed_needs, *layouts) if wanted.fixed_needs else layouts)

    def needs_elsewhere(self, value: int, node: int) -> Needs:
        """In which a value is wanted by all but one node."""
        wanted, nodes = self.graph.values[value], self.graph.nodes
        layouts = [nodes[reader].run.layouts[place] for reader, place in wanted.readers if reader != node]
        return frozenset((*wanted.fixed_needs, *layouts))

    def home(self, value: int) -> Layout:
        """By way of which layout a value is delivered."""
        return self._delivery(self.layout(value), self.needs(value), self.graph.values[value].tensor).home

    def _delivery(self, layout: Layout, needs: Needs, tensor: Tensor) -> Delivery:
        key = layout, needs, tensor
        found = self._deliveries.get(key)
        if found is None:
            found = self._deliveries[key] = self._cheapest(*key)
        return found

    def _cheapest(self, layout: Layout, needs: Needs, tensor: Tensor) -> Delivery:
        homes = (layout, *sorted(needs)) if self.patterns.reuse else (layout,)

        def by_way_of(home: Layout) -> Delivery:
            price = self.transfers.price(layout, home, tensor)
            return Delivery(price + sum(self.transfers.price(home, need, tensor) for need in needs), home)

        return min(map(by_way_of, homes), key=lambda delivery: delivery.price)

    def cost(self, value: int, move: Move = NO_MOVE) -> float:
        """Bytes that are sent because of a value."""
        return self.costs[value] if move.keys().isdisjoint(self._around[value]) else self._cost(value, move)

    def sent(self, values: Iterable[int]) -> Sent:
        """What is sent because of some values."""
        total, collectives = 0.0, 0
        for number in values:
            value = self.graph.values[number]
            if not value.is_free:
                steps = value.times * self._steps(number)
                total += self.costs[number] - steps * self.patterns.step_bytes
                collectives += steps
        return Sent(total, collectives)

    def _steps(self, number: int) -> int:
        """The collectives by which a value is delivered once."""
        tensor, source, home = self.graph.values[number].tensor, self.layout(number), self.home(number)
        ways = ((source, home), *((home, need) for need in self.needs(number)))
        return sum(self.transfers.way(*way, tensor).steps for way in ways if way[0] != way[1])

    def cost_up_to(self, limit: float, values: Iterable[int], move: Move) -> float:
        """Of several values; more than `limit` is not added up to the end."""
        cost = 0.0
        for value in values:
            cost += self.cost(value, move)
            if cost > limit:
                break
        return cost

    def _cost(self, value: int, move: Move = NO_MOVE) -> float:
        return self.cost_between(value, self.layout(value, move), self.needs(value, move))

    def cost_between(self, value: int, layout: Layout, needs: Needs) -> float:
        """Bytes that are sent because of a value, if it is given and wanted in these layouts."""
        priced = self.graph.values[value]
        return 0.0 if priced.is_free else self._delivery(layout, needs, priced.tensor).price * priced.times

    def change(self, move: Move) -> float:
        """Bytes that a move adds; of two that add the same, the one after which devices hold less is the better."""
        sent = sum(self.cost(value, move) - self.costs[value] for value in self.touched(move))
        return sent + self.held_change(move)

    def held_change(self, move: Move) -> float:
        """What it counts that devices hold more."""
        return TIE_BREAK * sum(self._held(number, run) - self._held(number) for number, run in move.items())

    def least_cost_between(self, value: int, layout: Layout, needs: Needs) -> float:
        """The least that `cost_between` may give. Quick: no transfer is worked out."""
        priced = self.graph.values[value]
        if priced.is_free or not needs:
            return 0.0
        return priced.times * max([self.transfers.bound(layout, need, priced.tensor) for need in needs])

    def make(self, move: Move) -> None:
        """Make a move."""
        for number, run in move.items():
            self.graph.nodes[number].run = run
        for value in self.touched(move):
            self.costs[value] = self._cost(value)

    def is_too_much(self, number: int, run: Run) -> bool:
        """Whether a device would compute more than before the search, or hold more at once than it may."""
        if self.computes_more(number, run):
            return True
        return not self.graph.nodes[number].is_edge and self._held(number, run, times=1) > self._most_held

    def computes_more(self, number: int, run: Run) -> bool:
        """Whether a device would compute more of a contraction than before the search."""
        node = self.graph.nodes[number]
        return bool(node.flops) and self._local_flops(node, run) > self._flops[number]

    def _local_flops(self, node: Node, run: Run) -> float:
        return node.flops / self.atoms.shards(run.assignment.factors) if node.flops else 0.0

    def touched(self, move: Move) -> set[int]:
        """The values whose cost a move may change."""
        return {value for number in move for value in self.graph.nodes[number].values}

    def _held(self, number: int, run: Run | None = None, times: int | None = None) -> float:
        """Bytes of the tensors that one device reads and writes in a node, in some or in all of its runs."""
        node = self.graph.nodes[number]
        run = run or node.run
        key = number, id(run), times  # by identity, which is its own as long as the run is kept
        if key not in self._known_held:
            pairs = zip((self.graph.values[value] for value in node.values), run.layouts, strict=True)
            held = sum(
                (value.times if times is None else times)
                * value.tensor.width
                * self.atoms.elements(value.tensor.shape, layout.dims)
                for value, layout in pairs
            )
            self._known_held[key] = run, held
        return self._known_held[key][1]
