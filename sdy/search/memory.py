"""The memory of a device under a solution of the cost network, and costs that make the search save it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import OpResult, SSAValue

from sdy.cost.memory import values_at_peak
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.symbols import functions_of
from sdy.partitioner.network.cost_network import CostNetwork
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
