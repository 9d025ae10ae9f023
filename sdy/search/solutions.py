"""Solutions of the cost network of a program: the cheapest one, the cheapest one that fits, and their memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from time import monotonic

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import OpResult, SSAValue

from sdy.cost.memory import values_at_peak
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.symbols import functions_of
from sdy.partitioner.network.cost_network import CostNetwork
from sdy.partitioner.network.minimum import Minimum, minimum
from sdy.search.program_network import ProgramNetwork
from sdy.search.searched_module import SearchedModule


@dataclass(frozen=True, slots=True)
class Peak:
    """The most bytes alive at once on a device, and the values alive then."""

    bytes: int
    values: frozenset[SSAValue]


@dataclass(slots=True)
class MemoryCosts:
    """Costs of memory at the points where earlier solutions needed the most.

    The mean over these points of the bytes alive is a lower bound of the peak of every solution. So the least cost of a
    network with `price` per byte, minus the price of the bytes that are free, is a lower bound of the cost of every
    solution that fits (Lagrangian relaxation).
    """

    searched: SearchedModule
    network: ProgramNetwork
    points: list[frozenset[SSAValue]] = field(default_factory=list[frozenset[SSAValue]])

    def peak(self, labels: Sequence[int]) -> Peak:
        """Return the peak of the program on one device with the layouts that the labels stand for."""

        @cache
        def bytes_of(value: SSAValue) -> int:
            return round(self.network.local_bytes(value, labels))

        found = values_at_peak(self.searched.module, bytes_of)
        return Peak(sum(found.values.values()), frozenset(value for value, size in found.values.items() if size))

    def priced(self, price: float) -> CostNetwork:
        """Return the cost network with a price per byte alive at the known points."""
        found = self.network.network.copy()
        for value, share in self._shares():
            choice = self.network.bytes_by_label(value)
            if choice is not None:
                variable, sizes = choice
                found.add_costs(variable, price * share * sizes)
        return found

    def fixed_bytes(self) -> float:
        """Return the mean bytes, over the known points, of values whose layouts the search does not choose."""
        fixed = (value_share for value_share in self._shares() if self.network.bytes_by_label(value_share[0]) is None)
        return sum(share * self.network.local_bytes(value, ()) for value, share in fixed)

    def _shares(self) -> list[tuple[SSAValue, float]]:
        """Return the values alive at some known point, with the share of the points where they are."""
        counts = Counter(value for point in self.points for value in point)
        return [(value, count / len(self.points)) for value, count in counts.items()]

    def least_memory(self) -> dict[SSAValue, float]:
        """Return the values alive at that known point where they need the most, with their bytes on a device at least.

        No sharding needs less, because each value has the smallest shards that any sharding of its op allows.
        """
        values = ({value: self._least_bytes(value) for value in point} for point in self.points)
        return max(values, key=lambda each: sum(each.values()), default=dict[SSAValue, float]())

    @property
    def least_bytes(self) -> float:
        """The bytes that a device needs at least, as far as is known."""
        return sum(self.least_memory().values())

    def _least_bytes(self, value: SSAValue) -> float:
        """Return the bytes of the smallest shard that a value can have."""
        choice = self.network.bytes_by_label(value)
        if choice is None:
            return self.network.local_bytes(value, ())
        variable, sizes = choice
        return float(np.min(sizes, where=np.isfinite(self.network.network.costs[variable]), initial=np.inf))


def produced(value: SSAValue, module: ModuleOp) -> SSAValue:
    """Return the value in the function of a layer that a result of its call is, or the value itself."""
    while isinstance(value, OpResult) and isinstance(value.op, CallOp):
        layer = functions_of(module)[value.op.callee.string_value()]
        value = operands_of(terminator_of(layer.body))[value.index]
    return value


MAX_TRIALS = 12  # prices of a byte that are tried
DOMINANT = 4096  # the factor of the first price if nothing fits: a byte saved is then worth almost any time
NEAR_LEAST = 1e-3  # the fraction by which a solution may exceed the least memory if nothing fits


@dataclass(frozen=True, slots=True)
class Solution:
    """Labels with their cost in the network, a lower bound of the cost of all that fit, and the peak memory.

    With `price` per byte of memory, the labels are the cheapest ones.
    """

    labels: Sequence[int]
    cost: float
    bound: float
    peak_bytes: int
    price: float = 0.0

    @property
    def gap(self) -> float:
        """The fraction by which the cost exceeds the bound."""
        return (self.cost - self.bound) / self.bound if self.bound > 0 else 0.0


class Solver:
    """Solves the cost network of a program for several amounts of memory, each once.

    `solutions` are those so far, by the free bytes; a caller that finds a better one puts it there.
    """

    def __init__(self, searched: SearchedModule, network: ProgramNetwork) -> None:
        self._network = network
        self._memory = MemoryCosts(searched, network)
        self._end = 0.0
        self._cheapest: tuple[Minimum, Peak] | None = None
        self.solutions: dict[float, Solution] = {}

    def solve(self, free_bytes: float, seconds: float) -> Solution | None:
        """Return the cheapest solution that fits into memory, or that with the least memory if none was found.

        Return None if every assignment is impossible, or if `seconds` passed before one was found.
        """
        if free_bytes not in self.solutions:
            self._end = monotonic() + seconds
            found = self._found(free_bytes)
            if found is None:
                return None
            self.solutions[free_bytes] = found
        return self.solutions[free_bytes]

    def least_memory(self) -> dict[SSAValue, float]:
        """Return the values alive where every sharding needs the most memory, with their bytes on a device at least."""
        return self._memory.least_memory()

    def priced(self, price: float) -> CostNetwork:
        """Return the cost network with a price per byte of memory."""
        return self._memory.priced(price) if price else self._network.network

    def _found(self, free_bytes: float) -> Solution | None:
        if self._cheapest is None:
            found = minimum(self._network.network, self._left())
            if found is None:
                return None
            self._cheapest = found, self._memory.peak(found.labels)
        found, peak = self._cheapest
        if peak.bytes <= free_bytes:
            return Solution(found.labels, found.cost, found.bound, peak.bytes)
        return self._fitting(found, peak, free_bytes)

    def _left(self) -> float:
        return max(1.0, self._end - monotonic())

    def _fitting(self, cheapest: Minimum, peak: Peak, free_bytes: float) -> Solution:
        """Search for the price of a byte at which the cheapest solution just fits.

        The next price is that at which the best solutions so far that fit, and that do not, cost the same.
        """
        memory = self._memory
        memory.points.append(peak.values)
        over = Solution(cheapest.labels, cheapest.cost, cheapest.bound, peak.bytes)
        least, best, bound = over, None, cheapest.bound
        price = cheapest.cost / peak.bytes
        if memory.least_bytes > free_bytes:
            price *= DOMINANT
        for _ in range(MAX_TRIALS):
            found = minimum(memory.priced(price), self._left())
            if found is None:
                break
            bound = max(bound, found.bound - price * (free_bytes - memory.fixed_bytes()))
            here = memory.peak(found.labels)
            solution = Solution(found.labels, self._network.network.cost_of(found.labels), bound, here.bytes, price)
            least = min(least, solution, key=lambda each: each.peak_bytes)
            is_better = best is None or solution.cost < best.cost
            if here.bytes > free_bytes:
                is_closer = solution.peak_bytes < over.peak_bytes
                if here.values not in memory.points:
                    memory.points.append(here.values)
                over = solution if is_closer else over
            else:
                is_closer = is_better
                best = solution if is_better else best
            if monotonic() > self._end or not (is_closer or best is None) or self._is_least(here, free_bytes):
                break
            # While nothing fits, a byte must cost more.
            price = 8 * price if best is None else (best.cost - over.cost) / (over.peak_bytes - best.peak_bytes)
        chosen = best or least
        return replace(chosen, bound=min(chosen.cost, bound))

    def _is_least(self, peak: Peak, free_bytes: float) -> bool:
        """Return whether nothing fits, and nothing needs much less than a solution with this peak."""
        least = self._memory.least_bytes
        return least > free_bytes and peak.bytes <= least * (1 + NEAR_LEAST)
