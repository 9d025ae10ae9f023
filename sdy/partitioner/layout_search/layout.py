"""Layouts as tuples of small numbers: what a search compares a million times.

An *atom* is a digit of a mesh axis that is cut no further: an axis of 8 devices has three atoms of size 2, or is one
atom of a large mesh. A layout says which atoms cut each dim, major first, and along which atoms the devices hold
partial values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import extended
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import mesh_digits

Cut = tuple[int, ...]  # atoms, major first
Dims = tuple[Cut, ...]
Sizes = tuple[int, ...]

MOST_ATOMS = 6  # of a mesh whose axes are cut into their prime factors


class Layout(NamedTuple):
    """How a tensor lies on the devices. `unreduced` is sorted."""

    dims: Dims
    unreduced: Cut = ()


class Tensor(NamedTuple):
    """What of a value matters to its price: its shape, and the bytes of an element."""

    shape: Sizes
    width: int

    @property
    def bytes(self) -> int:
        """Of the whole tensor."""
        return prod(self.shape) * self.width


@dataclass(frozen=True, slots=True)
class Atoms:
    """The atoms of a mesh: `refs[number]` is what an atom is called, `sizes[number]` how many devices lie along it."""

    mesh: Mesh
    refs: tuple[AxisRef, ...]
    sizes: Sizes
    _counts: dict[Cut, int] = field(default_factory=dict[Cut, int], compare=False, repr=False)
    _shards: dict[Dims, int] = field(default_factory=dict[Dims, int], compare=False, repr=False)
    _elements: dict[tuple[Sizes, Dims], int] = field(
        default_factory=dict[tuple[Sizes, Dims], int], compare=False, repr=False
    )

    @staticmethod
    def of(mesh: Mesh) -> Atoms:
        """Each axis cut into its prime factors, in mesh order."""
        refs = mesh_digits(mesh)
        return Atoms(mesh, refs, tuple(map(mesh.size_of, refs)))

    @staticmethod
    def whole_axes(mesh: Mesh) -> Atoms:
        """Each axis of more than one device is an atom."""
        axes = [axis for axis in mesh.axes if axis.size > 1]
        return Atoms(mesh, tuple(AxisRef(axis.name) for axis in axes), tuple(axis.size for axis in axes))

    @property
    def device_count(self) -> int:
        """How many devices the mesh has."""
        return self.mesh.device_count

    def split(self, axes: Iterable[AxisRef]) -> Cut | None:
        """The atoms of axis refs; None where a ref cuts through one."""
        atoms: list[int] = []
        for ref in axes:
            end = self._end(ref)
            own = [
                number
                for number, atom in enumerate(self.refs)
                if atom.name == ref.name and ref.pre_size <= atom.pre_size and self._end(atom) <= end
            ]
            if self.count(tuple(own)) != self.mesh.size_of(ref):
                return None
            atoms += own
        return tuple(atoms)

    def _end(self, ref: AxisRef) -> int:
        return ref.pre_size * self.mesh.size_of(ref)

    def join(self, cut: Cut) -> AxisList:
        """The axis refs that atoms make, as few as possible."""
        return extended((), (self.refs[atom] for atom in cut), self.mesh)

    def count(self, cut: Cut) -> int:
        """Into how many pieces atoms cut a dim."""
        found = self._counts.get(cut)
        if found is None:
            found = self._counts[cut] = prod(self.sizes[atom] for atom in cut)
        return found

    def shards(self, dims: Dims) -> int:
        """Into how many pieces a tensor is cut."""
        found = self._shards.get(dims)
        if found is None:
            found = self._shards[dims] = prod(map(self.count, dims))
        return found

    def by_axis(self, atoms: Iterable[int]) -> tuple[Cut, ...]:
        """Some atoms, those of one mesh axis together."""
        groups: dict[str, list[int]] = {}
        for atom in atoms:
            groups.setdefault(self.refs[atom].name, []).append(atom)
        return tuple(tuple(group) for group in groups.values())

    def elements(self, shape: Sizes, dims: Dims) -> int:
        """How many elements of a tensor one device holds; uneven dims are padded."""
        key = shape, dims
        found = self._elements.get(key)
        if found is None:
            pairs = zip(shape, dims, strict=True)
            found = self._elements[key] = prod(-(-size // self.count(cut)) for size, cut in pairs)
        return found

    def counts(self) -> frozenset[int]:
        """Into how many parts something can be cut."""
        found = {1}
        for size in self.sizes:
            found |= {size * count for count in found}
        return frozenset(found)

    def divides(self, size: int, cut: Cut) -> bool:
        """Whether a dim of `size` elements is cut into equal pieces."""
        return size % self.count(cut) == 0


def used(dims: Dims) -> set[int]:
    """The atoms that cut some dim."""
    return {atom for cut in dims for atom in cut}


def replicated(rank: int) -> Layout:
    """Everything on every device."""
    return Layout(((),) * rank)
