"""Price the delivery of a value from its producer to all layouts that its users require."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sdy.partitioner.layout_search.layout import Layout, MeshDigits, TensorSize
from sdy.partitioner.layout_search.patterns import Patterns
from sdy.partitioner.layout_search.transfer import Transfers

Needs = frozenset[Layout]


@dataclass(frozen=True, slots=True)
class Delivery:
    """Transfers of a value from its producer to its *home* layout, and from there to its users."""

    price: float
    home: Layout


class Deliveries:
    """The cheapest deliveries of values, each computed once. Prices are bytes."""

    def __init__(self, digits: MeshDigits, patterns: Patterns) -> None:
        self.transfers = Transfers(digits, patterns)
        self._reuse = patterns.reuse
        self._known: dict[tuple[Layout, Needs, TensorSize], Delivery] = {}

    def cheapest(self, layout: Layout, needs: Needs, tensor: TensorSize) -> Delivery:
        """Return the cheapest delivery of a value that is produced in `layout`."""
        key = layout, needs, tensor
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._compute(*key)
        return found

    def _compute(self, layout: Layout, needs: Needs, tensor: TensorSize) -> Delivery:
        homes = (layout, *sorted(needs)) if self._reuse else (layout,)

        def delivery_from(home: Layout) -> Delivery:
            price = self.transfers.price(layout, home, tensor)
            return Delivery(price + sum(self.transfers.price(home, need, tensor) for need in needs), home)

        return min(map(delivery_from, homes), key=lambda delivery: delivery.price)

    def steps(self, layout: Layout, needs: Iterable[Layout], home: Layout, tensor: TensorSize) -> int:
        """Return the number of collectives of a delivery."""
        pairs = ((layout, home), *((home, need) for need in needs))
        return sum(self.transfers.cheapest(*pair, tensor).steps for pair in pairs if pair[0] != pair[1])
