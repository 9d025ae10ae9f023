"""The cheapest way from one layout to another, where the value may be partial.

A partial value that is wanted whole is *reduced*: first cut by atoms along which all devices hold the same, then
reduce-scattered, then all-reduced along what is left, then resharded. Devices that hold the same so share the work:
on a mesh 4x2, all-reducing b bytes over 4 costs 1.5 b; cut in 2, reduce-scattered over 4 and gathered over 8 it
costs 1.25 b. Prices count elements that each device receives, by ring algorithms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import inf, prod
from typing import NamedTuple

from sdy.cost.collectives import CollectiveKind, bytes_sent
from sdy.partitioner.layout_search.layout import Cut, Dims, Layout, Sizes, used
from sdy.partitioner.layout_search.reshard_price import reshard_price

MOST_WAYS = 1024  # of reducing a value: beyond, all atoms go the same way


class Reduction(NamedTuple):
    """How a partial value is reduced; `dims` is how it is cut before it is resharded."""

    sliced: Dims
    scattered: Dims
    reduced: Cut
    dims: Dims


class Way(NamedTuple):
    """A way from one layout to another, its price and the collectives in it. No reduction: a mere reshard."""

    price: float
    reduction: Reduction | None
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """What a price depends on besides the layouts: the sizes of all atoms, and the cost of a step, in elements."""

    sizes: Sizes
    scatter: bool
    share: bool
    step: float

    def count(self, cut: Cut) -> int:
        """Into how many pieces atoms cut a dim."""
        return prod(self.sizes[atom] for atom in cut)

    def elements(self, shape: Sizes, dims: Dims) -> int:
        """Of one shard."""
        return prod(-(-size // self.count(cut)) for size, cut in zip(shape, dims, strict=True))


@lru_cache(maxsize=65536)
def cheapest_way(source: Layout, target: Layout, shape: Sizes, terms: Terms) -> Way:
    """The cheapest way, where the value is reduced; at an infinite price where a whole one would become partial."""
    if not set(target.unreduced) <= set(source.unreduced):
        return Way(inf, None)
    pending = tuple(atom for atom in source.unreduced if atom not in target.unreduced)
    best = Way(inf, None)
    for way in _reductions(source, target, pending, shape, terms):
        price, steps = _price(way, shape, terms)
        if price <= best.price:
            more, further = _price_of_reshard(way.dims, target.dims, shape, terms)
            price += more
            if price < best.price or (price == best.price and _effort(way) < _effort(best.reduction)):
                best = Way(price, way, steps + further)
    return best


def _reductions(source: Layout, target: Layout, pending: Cut, shape: Sizes, terms: Terms) -> Iterator[Reduction]:
    """Every way to reduce a value along the atoms `pending`."""
    rank = len(shape)
    taken = used(source.dims) | set(source.unreduced)
    # What the target cuts by the atoms to reduce along is one reduce-scatter, which is left alone.
    shares = terms.share and not used(target.dims) & set(pending)
    free = tuple(atom for atom in range(len(terms.sizes)) if atom not in taken and shares)
    groups, shared = tuple((atom,) for atom in pending), tuple((atom,) for atom in free)
    if (rank + 1) ** (len(groups) + len(shared)) > MOST_WAYS:
        groups, shared = (pending,), (free,) if free else ()
    own = range(rank + 1) if terms.scatter else (rank,)
    for places in product(*(own for _ in groups), *(range(rank + 1) for _ in shared)):
        scattered = _dealt(groups, places[: len(groups)], rank)
        sliced = _dealt(shared, places[len(groups) :], rank)
        reduced = tuple(atom for group, place in zip(groups, places, strict=False) if place == rank for atom in group)
        dims = tuple(a + b + c for a, b, c in zip(source.dims, sliced, scattered, strict=True))
        cuts = zip(shape, dims, source.dims, strict=True)
        if all(cut == before or size % terms.count(cut) == 0 for size, cut, before in cuts):
            yield Reduction(sliced, scattered, reduced, dims)


def _price(way: Reduction, shape: Sizes, terms: Terms) -> tuple[float, int]:
    size = terms.elements(shape, way.dims)
    group = prod(terms.count(cut) for cut in way.scattered)
    rest = terms.count(way.reduced)
    sent = bytes_sent(CollectiveKind.REDUCE_SCATTER, group, size) + bytes_sent(CollectiveKind.ALL_REDUCE, rest, size)
    steps = (group > 1) + (rest > 1)
    return sent + terms.step * steps, steps


def _price_of_reshard(source: Dims, target: Dims, shape: Sizes, terms: Terms) -> tuple[float, int]:
    if source == target:
        return 0.0, 0
    shards, steps = reshard_price(source, target, terms.sizes)
    return shards * terms.elements(shape, source) + steps * terms.step, steps


def _dealt(groups: Sequence[Cut], places: Sequence[int], rank: int) -> Dims:
    """The atoms of each group at the dim that is its place; those at place `rank` nowhere."""
    dims: list[Cut] = [()] * rank
    for group, place in zip(groups, places, strict=True):
        if place < rank:
            dims[place] += group
    return tuple(dims)


def _effort(way: Reduction | None) -> int:
    """Of ways of the same price the one with the fewest collectives is best."""
    if way is None:
        return 0
    return 2 * bool(way.reduced) + 3 * any(way.scattered) + any(way.sliced)
