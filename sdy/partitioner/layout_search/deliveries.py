"""Price the delivery of a value from its producer to all layouts that its users require."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache, lru_cache
from typing import NamedTuple

from sdy.model.mesh_digits import NumberedDigits
from sdy.partitioner.layout_search.layout import Layout, TensorSize
from sdy.partitioner.layout_search.transfer import Patterns, Transfers

Needs = frozenset[Layout]


class Delivery(NamedTuple):
    """Transfers of a value from its producer to its *home* layout, and from there to its users."""

    price: float
    home: Layout


class Deliveries:
    """The cheapest deliveries of values, each computed once. Prices are bytes."""

    def __init__(self, digits: NumberedDigits, patterns: Patterns) -> None:
        self.transfers = Transfers(digits, patterns)
        self._reuse = patterns.reuse
        self.cheapest = cache(self._cheapest)

    def _cheapest(self, layout: Layout, needs: Needs, tensor: TensorSize) -> Delivery:
        """Return the cheapest delivery of a value that is produced in `layout`."""
        price = self.transfers.price
        best = Delivery(sum([price(layout, need, tensor) for need in needs]), layout)
        others = needs - {layout}  # a user that requires the layout of the producer reads the value as it is
        if len(others) < 2 or not self._reuse:
            return best  # another home would be the layout of the only user, which costs the same
        for home in sorted(others):
            to_home = price(layout, home, tensor)
            if to_home < best.price:
                total = to_home + sum([price(home, need, tensor) for need in others])
                if total < best.price:
                    best = Delivery(total, home)
        return best

    def steps(self, layout: Layout, needs: Iterable[Layout], home: Layout, tensor: TensorSize) -> int:
        """Return the number of collectives of a delivery."""
        pairs = ((layout, home), *((home, need) for need in needs if need != layout))
        return sum(self.transfers.cheapest(*pair, tensor).steps for pair in pairs if pair[0] != pair[1])


def shared_deliveries(digits: NumberedDigits, patterns: Patterns) -> Deliveries:
    """Return the deliveries of all searches on a mesh with the same prices, so that each is computed once."""
    return _shared_deliveries(digits, replace(patterns, recut=True, delay=True))  # no price depends on these two


@lru_cache(maxsize=8)
def _shared_deliveries(digits: NumberedDigits, patterns: Patterns) -> Deliveries:
    return Deliveries(digits, patterns)
