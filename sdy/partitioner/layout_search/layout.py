"""Layouts as tuples of small integers, which the search compares and hashes fast.

An *atom* is a sub-axis that is not split further: an axis of 8 devices has three atoms of size 2, or is one atom if the
mesh is large. A layout has the atoms that each dim is sharded along, major first, and those along which devices hold
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
from sdy.model.shape import StaticShape

AtomTuple = tuple[int, ...]  # major first
DimAtoms = tuple[AtomTuple, ...]  # by dim

MAX_ATOMS = 6  # if a mesh has more prime factors, its axes are the atoms


class Layout(NamedTuple):
    """The sharding of a tensor, by dim, and the atoms along which it is partial. `unreduced` is sorted."""

    dims: DimAtoms
    unreduced: AtomTuple = ()


class TensorSize(NamedTuple):
    """The global shape of a tensor, and the bytes of an element, which determine the price of its transfers."""

    shape: StaticShape
    width: int

    @property
    def bytes(self) -> int:
        """Bytes of the global tensor."""
        return prod(self.shape) * self.width


@dataclass(frozen=True, slots=True)
class Atoms:
    """The atoms of a mesh: atom number i is the axis ref `refs[i]` of size `sizes[i]`."""

    mesh: Mesh
    refs: tuple[AxisRef, ...]
    sizes: StaticShape
    _counts: dict[AtomTuple, int] = field(default_factory=dict[AtomTuple, int], compare=False, repr=False)
    _shards: dict[DimAtoms, int] = field(default_factory=dict[DimAtoms, int], compare=False, repr=False)
    _elements: dict[tuple[StaticShape, DimAtoms], int] = field(
        default_factory=dict[tuple[StaticShape, DimAtoms], int], compare=False, repr=False
    )

    @staticmethod
    def of(mesh: Mesh) -> Atoms:
        """Return the prime factors of the axes, in mesh order."""
        refs = mesh_digits(mesh)
        return Atoms(mesh, refs, tuple(map(mesh.size_of, refs)))

    @staticmethod
    def full_axes(mesh: Mesh) -> Atoms:
        """Return the axes of more than one device."""
        axes = [axis for axis in mesh.axes if axis.size > 1]
        return Atoms(mesh, tuple(AxisRef(axis.name) for axis in axes), tuple(axis.size for axis in axes))

    @property
    def device_count(self) -> int:
        """The number of devices of the mesh."""
        return self.mesh.device_count

    def split(self, axes: Iterable[AxisRef]) -> AtomTuple | None:
        """Return the atoms of axis refs; None if a ref begins or ends within an atom."""
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

    def join(self, atoms: AtomTuple) -> AxisList:
        """Return the axis refs of atoms; adjacent atoms of one axis are merged."""
        return extended((), (self.refs[atom] for atom in atoms), self.mesh)

    def count(self, atoms: AtomTuple) -> int:
        """Return the number of shards of a dim that is sharded along atoms."""
        found = self._counts.get(atoms)
        if found is None:
            found = self._counts[atoms] = prod(self.sizes[atom] for atom in atoms)
        return found

    def shards(self, dims: DimAtoms) -> int:
        """Return the number of shards of a tensor."""
        found = self._shards.get(dims)
        if found is None:
            found = self._shards[dims] = prod(map(self.count, dims))
        return found

    def by_axis(self, atoms: Iterable[int]) -> tuple[AtomTuple, ...]:
        """Group atoms by mesh axis."""
        groups: dict[str, list[int]] = {}
        for atom in atoms:
            groups.setdefault(self.refs[atom].name, []).append(atom)
        return tuple(tuple(group) for group in groups.values())

    def elements(self, shape: StaticShape, dims: DimAtoms) -> int:
        """Return the number of elements of a shard; uneven dims are padded."""
        key = shape, dims
        found = self._elements.get(key)
        if found is None:
            pairs = zip(shape, dims, strict=True)
            found = self._elements[key] = prod(-(-size // self.count(atoms)) for size, atoms in pairs)
        return found

    def counts(self) -> frozenset[int]:
        """Return all shard counts that some atoms have."""
        found = {1}
        for size in self.sizes:
            found |= {size * count for count in found}
        return frozenset(found)

    def divides(self, size: int, atoms: AtomTuple) -> bool:
        """Return whether a dim of `size` elements has equal shards along atoms."""
        return size % self.count(atoms) == 0


def used(dims: DimAtoms) -> set[int]:
    """Return the atoms that some dim is sharded along."""
    return {atom for atoms in dims for atom in atoms}


def replicated(rank: int) -> Layout:
    """Return the replicated layout of a tensor."""
    return Layout(((),) * rank)
