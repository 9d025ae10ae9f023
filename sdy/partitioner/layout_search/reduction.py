"""Find the cheapest transfer from one layout to another if the value may be partial.

A partial value is *reduced*: first sliced along digits along which it is replicated, then reduce-scattered, then
all-reduced along the remaining digits, then resharded. So devices with equal partial values share the work: on a mesh
4x2, all-reducing b bytes over 4 devices costs 1.5 b; slicing them in 2, a reduce-scatter over 4 and an all-gather over
8 devices cost 1.25 b. Prices count elements that each device receives, by ring algorithms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import inf, prod
from typing import NamedTuple

from sdy.cost.collectives import CollectiveKind, bytes_sent
from sdy.model.numbered_digits import DigitsPerDim, DigitTuple
from sdy.model.shape import StaticShape
from sdy.partitioner.layout_search.layout import Layout, used
from sdy.partitioner.layout_search.reshard_price import reshard_price

MAX_REDUCTIONS = 1024  # of a value; if there are more, all its digits are reduced the same way


class Reduction(NamedTuple):
    """The steps that reduce a partial value; `dims` is its sharding after them."""

    sliced: DigitsPerDim
    scattered: DigitsPerDim
    reduced: DigitTuple
    dims: DigitsPerDim


class Transfer(NamedTuple):
    """A transfer from one layout to another, with its number of collectives. Without reduction it is a reshard.

    The price counts elements here, and bytes in the results of `Transfers`.
    """

    price: float
    reduction: Reduction | None
    steps: int = 0


@dataclass(frozen=True, slots=True)
class PriceTerms:
    """The sizes of all digits, and two switches: what prices depend on besides the layouts and the cost of a step."""

    sizes: StaticShape
    scatter: bool
    share: bool

    def count(self, digits: DigitTuple) -> int:
        """Return the number of shards of a dim that is sharded along digits."""
        return prod([self.sizes[digit] for digit in digits])

    def elements(self, shape: StaticShape, dims: DigitsPerDim) -> int:
        """Return the number of elements of a shard."""
        return prod(-(-size // self.count(digits)) for size, digits in zip(shape, dims, strict=True))


class _PricedReduction(NamedTuple):
    """A reduction, and the reshard after it: the elements sent and the number of collectives of both."""

    reduction: Reduction
    sent: float
    steps: int
    resharded: float
    reshard_steps: int


@lru_cache(maxsize=65536)
def cheapest_transfer(source: Layout, target: Layout, shape: StaticShape, terms: PriceTerms, step: float) -> Transfer:
    """Return the cheapest transfer that reduces the value; its price is infinite if the target is partial where the
    source is not. A step, which is a collective, costs as much as `step` elements.
    """
    best = Transfer(inf, None)
    for reduction, sent, steps, resharded, reshard_steps in _priced_reductions(source, target, shape, terms):
        price = sent + step * steps
        if price <= best.price:
            price += resharded + reshard_steps * step
            if price < best.price or (price == best.price and _effort(reduction) < _effort(best.reduction)):
                best = Transfer(price, reduction, steps + reshard_steps)
    return best


@lru_cache(maxsize=8192)
def _priced_reductions(
    source: Layout, target: Layout, shape: StaticShape, terms: PriceTerms
) -> tuple[_PricedReduction, ...]:
    """Return the reductions of a value; the cost of a step, which differs between programs, does not matter here."""
    if not set(target.unreduced) <= set(source.unreduced):
        return ()
    pending = tuple(digit for digit in source.unreduced if digit not in target.unreduced)
    return tuple(
        _PricedReduction(
            each,
            *_sent_and_steps(each, shape, terms),
            *_sent_and_steps_of_reshard(each.dims, target.dims, shape, terms),
        )
        for each in _reductions(source, target, pending, shape, terms)
    )


def _reductions(
    source: Layout, target: Layout, pending: DigitTuple, shape: StaticShape, terms: PriceTerms
) -> Iterator[Reduction]:
    """Yield the reductions of a value along the digits `pending`."""
    rank = len(shape)
    taken = used(source.dims) | set(source.unreduced)
    # If the target is sharded along the reduced digits, one reduce-scatter is best, and slices would not help.
    shares = terms.share and not used(target.dims) & set(pending)
    free = tuple(digit for digit in range(len(terms.sizes)) if digit not in taken and shares)
    groups, shared = tuple((digit,) for digit in pending), tuple((digit,) for digit in free)
    if (rank + 1) ** (len(groups) + len(shared)) > MAX_REDUCTIONS:
        groups, shared = (pending,), (free,) if free else ()
    own = range(rank + 1) if terms.scatter else (rank,)
    for dims_of_groups in product(*(own for _ in groups), *(range(rank + 1) for _ in shared)):
        scattered = _distributed(groups, dims_of_groups[: len(groups)], rank)
        sliced = _distributed(shared, dims_of_groups[len(groups) :], rank)
        pairs = zip(groups, dims_of_groups, strict=False)
        reduced = tuple(digit for group, dim in pairs if dim == rank for digit in group)
        dims = tuple(a + b + c for a, b, c in zip(source.dims, sliced, scattered, strict=True))
        changes = zip(shape, dims, source.dims, strict=True)
        if all(after == before or size % terms.count(after) == 0 for size, after, before in changes):
            yield Reduction(sliced, scattered, reduced, dims)


def _sent_and_steps(reduction: Reduction, shape: StaticShape, terms: PriceTerms) -> tuple[float, int]:
    size = terms.elements(shape, reduction.dims)
    group = prod(terms.count(digits) for digits in reduction.scattered)
    rest = terms.count(reduction.reduced)
    sent = bytes_sent(CollectiveKind.REDUCE_SCATTER, group, size) + bytes_sent(CollectiveKind.ALL_REDUCE, rest, size)
    return sent, (group > 1) + (rest > 1)


def _sent_and_steps_of_reshard(
    source: DigitsPerDim, target: DigitsPerDim, shape: StaticShape, terms: PriceTerms
) -> tuple[float, int]:
    if source == target:
        return 0.0, 0
    shards, steps = reshard_price(source, target, terms.sizes)
    return shards * terms.elements(shape, source), steps


def _distributed(groups: Sequence[DigitTuple], dims_of_groups: Sequence[int], rank: int) -> DigitsPerDim:
    """Return the digits of each dim; groups with dim `rank` are left out."""
    dims: list[DigitTuple] = [()] * rank
    for group, dim in zip(groups, dims_of_groups, strict=True):
        if dim < rank:
            dims[dim] += group
    return tuple(dims)


def _effort(reduction: Reduction | None) -> int:
    """Return a number that orders reductions of the same price: fewer collectives are better."""
    if reduction is None:
        return 0
    return 2 * bool(reduction.reduced) + 3 * any(reduction.scattered) + any(reduction.sliced)
