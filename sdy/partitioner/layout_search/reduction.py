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
from sdy.model.mesh_digits import DigitsPerDim, DigitTuple
from sdy.model.shape import StaticShape
from sdy.partitioner.layout_search.layout import Layout, used
from sdy.partitioner.layout_search.reshard_price import first_slices, has_conflict, reshard_price
from sdy.partitioner.reshard.reduced_slices import reduced_slices

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
    best, least_effort = Transfer(inf, None), 0
    for reduction, sent, steps, resharded, reshard_steps in _priced_reductions(source, target, shape, terms):
        price = sent + step * steps
        if price <= best.price:
            price += resharded + reshard_steps * step
            steps += reshard_steps
            effort = _effort(reduction, target)
            if (price, steps, effort) < (best.price, best.steps, least_effort):
                best, least_effort = Transfer(price, reduction, steps), effort
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
        _priced(each, target.dims, shape, terms)
        for each in _reductions(source, target, pending, shape, terms)
        if not target.unreduced or not has_conflict(each.dims, target.dims)  # as in `Transfers`
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


def _priced(reduction: Reduction, target: DigitsPerDim, shape: StaticShape, terms: PriceTerms) -> _PricedReduction:
    """Price a reduction, and the reshard after it. Of a result that the reshard slices first, slices are reduced."""
    size: float = terms.elements(shape, reduction.dims)
    scattered = prod(map(terms.count, reduction.scattered))
    sent, steps = bytes_sent(CollectiveKind.REDUCE_SCATTER, scattered, size), int(scattered > 1)
    if reduction.reduced:
        sliced = () if reduction.dims == target else first_slices(reduction.dims, target, terms.sizes)
        split = reduced_slices(sliced, reduction.reduced)
        scattered, left = prod(map(terms.count, split.scattered)), terms.count(split.left)
        part = size / prod(map(terms.count, split.before)) / scattered
        sent += bytes_sent(CollectiveKind.REDUCE_SCATTER, scattered, part)
        sent += bytes_sent(CollectiveKind.ALL_REDUCE, left, part)
        steps += (scattered > 1) + (left > 1)
    shards, reshard_steps = reshard_price(reduction.dims, target, terms.sizes)
    return _PricedReduction(reduction, sent, steps, shards * size, reshard_steps)


def _distributed(groups: Sequence[DigitTuple], dims_of_groups: Sequence[int], rank: int) -> DigitsPerDim:
    """Return the digits of each dim; groups with dim `rank` are left out."""
    dims: list[DigitTuple] = [()] * rank
    for group, dim in zip(groups, dims_of_groups, strict=True):
        if dim < rank:
            dims[dim] += group
    return tuple(dims)


def _effort(reduction: Reduction, target: Layout) -> int:
    """Return a number that orders reductions of the same price and number of collectives: fewer ops are better."""
    is_resharded = reduction.dims != target.dims
    return 2 * (bool(reduction.reduced) + is_resharded) + 3 * any(reduction.scattered) + any(reduction.sliced)
