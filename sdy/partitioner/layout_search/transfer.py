"""Price transfers of values between layouts, with a cache.

Before a transfer is looked up, digits are renumbered in order of occurrence, dims are sorted, and sizes are replaced by
small sizes with the same divisors, so that most transfers are in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, inf, prod

from sdy.model.mesh_digits import DigitsPerDim, DigitTuple, NumberedDigits
from sdy.model.shape import StaticShape
from sdy.partitioner.layout_search.layout import Layout, TensorSize
from sdy.partitioner.layout_search.reduction import PriceTerms, Reduction, Transfer, cheapest_transfer
from sdy.partitioner.layout_search.reshard_price import has_conflict, reshard_price


class Transfers:
    """The transfers between the layouts of one mesh, each computed once. Prices are bytes."""

    def __init__(self, digits: NumberedDigits, patterns: Patterns) -> None:
        self._digits = digits
        self._patterns = patterns
        self._known: dict[tuple[Layout, Layout, TensorSize], Transfer] = {}

    def price(self, source: Layout, target: Layout, tensor: TensorSize) -> float:
        """Return the bytes that each device receives; infinite if partial values would have to be permuted."""
        return 0.0 if source == target else self.cheapest(source, target, tensor).price

    def cheapest(self, source: Layout, target: Layout, tensor: TensorSize) -> Transfer:
        """Return the cheapest transfer of a tensor.

        A value becomes partial along more digits at no cost: one device along them holds it, the others hold zeros.
        """
        key = source, target, tensor
        found = self._known.get(key)
        if found is None:
            if not set(target.unreduced) <= set(source.unreduced):
                common = tuple(digit for digit in target.unreduced if digit in source.unreduced)
                found = self.cheapest(source, Layout(target.dims, common), tensor)
            else:
                found = self._reshard(*key) if source.unreduced == target.unreduced else self._reduce(*key)
            self._known[key] = found
        return found

    def _reshard(self, source: Layout, target: Layout, tensor: TensorSize) -> Transfer:
        if source.unreduced and has_conflict(source.dims, target.dims):
            return Transfer(inf, None)  # a plan may slice along digits along which devices hold other summands
        shards, steps = reshard_price(source.dims, target.dims, self._digits.sizes)
        shard = self._digits.elements(tensor.shape, source.dims) * tensor.width
        return Transfer(shards * shard + steps * self._patterns.step_bytes, None, steps)

    def bound(self, source: Layout, target: Layout, tensor: TensorSize) -> float:
        """Return a lower bound: a device holds no more than its shard, and of a sum only its own summand."""
        if source == target:
            return 0.0
        share = self._digits.count(source.unreduced) / self._digits.count(target.unreduced)
        held = 1 / self._digits.shards(source.dims) / share
        return tensor.bytes * max(0.0, 1 / self._digits.shards(target.dims) - held)

    def _reduce(self, source: Layout, target: Layout, tensor: TensorSize) -> Transfer:
        step = self._patterns.step_bytes / tensor.width if tensor.width else 0.0
        shape = tensor.shape if step else self._small_shape(source, target, tensor.shape)
        order = sorted(range(len(shape)), key=lambda dim: (source.dims[dim], target.dims[dim], shape[dim]))
        digits = dict.fromkeys(digit for dim in order for digit in (*source.dims[dim], *target.dims[dim]))
        digits |= dict.fromkeys((*source.unreduced, *range(len(self._digits.sizes))))
        number = {digit: index for index, digit in enumerate(digits)}

        def renumbered(layout: Layout) -> Layout:
            dims = tuple(tuple(number[digit] for digit in layout.dims[dim]) for dim in order)
            return Layout(dims, tuple(sorted(number[digit] for digit in layout.unreduced)))

        sizes = tuple(self._digits.sizes[digit] for digit in digits)
        terms = PriceTerms(sizes, self._patterns.scatter, self._patterns.share)
        own_shape = tuple(shape[dim] for dim in order)
        found = cheapest_transfer(renumbered(source), renumbered(target), own_shape, terms, step)
        scale = tensor.bytes / max(prod(shape), 1)
        reduction = None if found.reduction is None else _with_original_names(found.reduction, order, tuple(digits))
        return Transfer(found.price * scale, reduction, found.steps)

    def _small_shape(self, source: Layout, target: Layout, shape: StaticShape) -> StaticShape:
        """Return a small shape with the same divisors as `shape`; `shape` itself if a layout is uneven."""
        small = tuple(gcd(size, self._digits.device_count) for size in shape)
        is_even = all(map(self._digits.divides, small * 2, (*source.dims, *target.dims)))
        return small if is_even and all(shape) else shape


def _with_original_names(reduction: Reduction, order: list[int], digits: DigitTuple) -> Reduction:
    """Return the reduction with the original numbers of digits and order of dims."""

    def named(dims: DigitsPerDim) -> DigitsPerDim:
        by_dim = {dim: tuple(digits[digit] for digit in own) for dim, own in zip(order, dims, strict=True)}
        return tuple(by_dim[dim] for dim in range(len(order)))

    reduced = tuple(sorted(digits[digit] for digit in reduction.reduced))
    return Reduction(named(reduction.sliced), named(reduction.scattered), reduced, named(reduction.dims))


@dataclass(frozen=True, slots=True)
class Patterns:
    """The enabled rewrites, and the fixed cost of a collective."""

    # Shard an op along other factors: gather the smaller operand instead of reducing the larger result.
    recut: bool = True
    # Add, mask or multiply partial values first, and reduce them once afterwards.
    delay: bool = True
    # Reduce-scatter a value if its result is sharded, or gathered later.
    scatter: bool = True
    # Devices with equal partial values each reduce a slice, and gather over all axes. A reduce-scatter is not changed.
    share: bool = True
    # Transfer a value that is used in several layouts to the layout from which the others are cheap.
    reuse: bool = True
    # Latency times bandwidth. The larger it is, the fewer collectives there are, even if they send more bytes.
    step_bytes: int = 0
