"""What it costs to bring a value of a program from one layout to another.

Atoms are numbered anew as they come, dims are sorted, and of the shape only that is kept which tells what divides: so
most transfers are like one that is known.
"""

from __future__ import annotations

from math import gcd, prod

from sdy.partitioner.layout_search.layout import Atoms, Cut, Dims, Layout, Sizes, Tensor
from sdy.partitioner.layout_search.patterns import Patterns
from sdy.partitioner.layout_search.reduction import Reduction, Terms, Way, cheapest_way
from sdy.partitioner.layout_search.reshard_price import reshard_price


class Transfers:
    """The transfers between the layouts of one mesh, each worked out once. Prices are bytes."""

    def __init__(self, atoms: Atoms, patterns: Patterns) -> None:
        self._atoms = atoms
        self._patterns = patterns
        self._known: dict[tuple[Layout, Layout, Tensor], Way] = {}

    def price(self, source: Layout, target: Layout, tensor: Tensor) -> float:
        """Bytes that each device receives; infinite where a value that is whole would become partial."""
        return 0.0 if source == target else self.way(source, target, tensor).price

    def way(self, source: Layout, target: Layout, tensor: Tensor) -> Way:
        """The cheapest transfer of a tensor."""
        key = source, target, tensor
        found = self._known.get(key)
        if found is None:
            is_reshard = source.unreduced == target.unreduced
            found = self._known[key] = self._reshard(*key) if is_reshard else self._by_plain_names(*key)
        return found

    def _reshard(self, source: Layout, target: Layout, tensor: Tensor) -> Way:
        shards, steps = reshard_price(source.dims, target.dims, self._atoms.sizes)
        shard = self._atoms.elements(tensor.shape, source.dims) * tensor.width
        return Way(shards * shard + steps * self._patterns.step_bytes, None, steps)

    def bound(self, source: Layout, target: Layout, tensor: Tensor) -> float:
        """What a transfer costs at least: a device holds no more than its shard, and of a sum only its own share."""
        if source == target:
            return 0.0
        share = self._atoms.count(source.unreduced) / self._atoms.count(target.unreduced)
        held = 1 / self._atoms.shards(source.dims) / share
        return tensor.bytes * max(0.0, 1 / self._atoms.shards(target.dims) - held)

    def _by_plain_names(self, source: Layout, target: Layout, tensor: Tensor) -> Way:
        step = self._patterns.step_bytes / tensor.width if tensor.width else 0.0
        shape = tensor.shape if step else self._pieces(source, target, tensor.shape)
        order = sorted(range(len(shape)), key=lambda dim: (source.dims[dim], target.dims[dim], shape[dim]))
        atoms = dict.fromkeys(atom for dim in order for atom in (*source.dims[dim], *target.dims[dim]))
        atoms |= dict.fromkeys((*source.unreduced, *range(len(self._atoms.sizes))))
        number = {atom: place for place, atom in enumerate(atoms)}

        def plain(layout: Layout) -> Layout:
            dims = tuple(tuple(number[atom] for atom in layout.dims[dim]) for dim in order)
            return Layout(dims, tuple(sorted(number[atom] for atom in layout.unreduced)))

        sizes = tuple(self._atoms.sizes[atom] for atom in atoms)
        terms = Terms(sizes, self._patterns.scatter, self._patterns.share, step)
        found = cheapest_way(plain(source), plain(target), tuple(shape[dim] for dim in order), terms)
        scale = tensor.bytes / max(prod(shape), 1)
        reduction = None if found.reduction is None else _named(found.reduction, order, tuple(atoms))
        return Way(found.price * scale, reduction, found.steps)

    def _pieces(self, source: Layout, target: Layout, shape: Sizes) -> Sizes:
        """A small shape whose dims divide like those of `shape`; itself, where layouts are uneven."""
        pieces = tuple(gcd(size, self._atoms.device_count) for size in shape)
        is_even = all(map(self._atoms.divides, pieces * 2, (*source.dims, *target.dims)))
        return pieces if is_even and all(shape) else shape


def _named(reduction: Reduction, order: list[int], atoms: Cut) -> Reduction:
    """A reduction by the names of the atoms, and in the order of the dims, that a value has."""

    def named(dims: Dims) -> Dims:
        by_dim = {dim: tuple(atoms[atom] for atom in cut) for dim, cut in zip(order, dims, strict=True)}
        return tuple(by_dim[dim] for dim in range(len(order)))

    reduced = tuple(sorted(atoms[atom] for atom in reduction.reduced))
    return Reduction(named(reduction.sliced), named(reduction.scattered), reduced, named(reduction.dims))
