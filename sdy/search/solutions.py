"""Solutions of the cost network of a program: the cheapest one, and the cheapest one that fits into memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic

from xdsl.ir import SSAValue

from sdy.partitioner.network.cost_network import CostNetwork
from sdy.partitioner.network.minimum import Minimum, minimum
from sdy.search.memory import MemoryCosts, Peak
from sdy.search.program_network import ProgramNetwork
from sdy.search.searched_module import SearchedModule

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
