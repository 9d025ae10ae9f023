"""Layouts as tuples of small integers, which the search compares and hashes fast.

A *digit* is a sub-axis that is not split further: an axis of 8 devices has three digits of size 2, or is one digit if
the mesh is large. A layout has the digits that each dim is sharded along, major first, and those along which devices
hold partial values.
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

DigitTuple = tuple[int, ...]  # major first
DigitsPerDim = tuple[DigitTuple, ...]  # by dim

MAX_DIGITS = 6  # if a mesh has more prime factors, its axes are the digits


class Layout(NamedTuple):
    """The sharding of a tensor, by dim, and the digits along which it is partial. `unreduced` is sorted."""

    dims: DigitsPerDim
    unreduced: DigitTuple = ()


class TensorSize(NamedTuple):
    """The global shape of a tensor, and the bytes of an element, which determine the price of its transfers."""

    shape: StaticShape
    width: int

    @property
    def bytes(self) -> int:
        """Bytes of the global tensor."""
        return prod(self.shape) * self.width


@dataclass(frozen=True, slots=True)
class MeshDigits:
    """The digits of a mesh: digit number i is the axis ref `refs[i]` of size `sizes[i]`."""

    mesh: Mesh
    refs: tuple[AxisRef, ...]
    sizes: StaticShape
    _counts: dict[DigitTuple, int] = field(default_factory=dict[DigitTuple, int], compare=False, repr=False)
    _shards: dict[DigitsPerDim, int] = field(default_factory=dict[DigitsPerDim, int], compare=False, repr=False)
    _elements: dict[tuple[StaticShape, DigitsPerDim], int] = field(
        default_factory=dict[tuple[StaticShape, DigitsPerDim], int], compare=False, repr=False
    )

    @staticmethod
    def of(mesh: Mesh) -> MeshDigits:
        """Return the prime factors of the axes, in mesh order."""
        refs = mesh_digits(mesh)
        return MeshDigits(mesh, refs, tuple(map(mesh.size_of, refs)))

    @staticmethod
    def full_axes(mesh: Mesh) -> MeshDigits:
        """Return the axes of more than one device."""
        axes = [axis for axis in mesh.axes if axis.size > 1]
        return MeshDigits(mesh, tuple(AxisRef(axis.name) for axis in axes), tuple(axis.size for axis in axes))

    @property
    def device_count(self) -> int:
        """The number of devices of the mesh."""
        return self.mesh.device_count

    def split(self, axes: Iterable[AxisRef]) -> DigitTuple | None:
        """Return the digits of axis refs; None if a ref begins or ends within a digit."""
        digits: list[int] = []
        for ref in axes:
            end = self._end(ref)
            own = [
                number
                for number, digit in enumerate(self.refs)
                if digit.name == ref.name and ref.pre_size <= digit.pre_size and self._end(digit) <= end
            ]
            if self.count(tuple(own)) != self.mesh.size_of(ref):
                return None
            digits += own
        return tuple(digits)

    def _end(self, ref: AxisRef) -> int:
        return ref.pre_size * self.mesh.size_of(ref)

    def join(self, digits: DigitTuple) -> AxisList:
        """Return the axis refs of digits; adjacent digits of one axis are merged."""
        return extended((), (self.refs[digit] for digit in digits), self.mesh)

    def count(self, digits: DigitTuple) -> int:
        """Return the number of shards of a dim that is sharded along digits."""
        found = self._counts.get(digits)
        if found is None:
            found = self._counts[digits] = prod(self.sizes[digit] for digit in digits)
        return found

    def shards(self, dims: DigitsPerDim) -> int:
        """Return the number of shards of a tensor."""
        found = self._shards.get(dims)
        if found is None:
            found = self._shards[dims] = prod(map(self.count, dims))
        return found

    def by_axis(self, digits: Iterable[int]) -> tuple[DigitTuple, ...]:
        """Group digits by mesh axis."""
        groups: dict[str, list[int]] = {}
        for digit in digits:
            groups.setdefault(self.refs[digit].name, []).append(digit)
        return tuple(tuple(group) for group in groups.values())

    def elements(self, shape: StaticShape, dims: DigitsPerDim) -> int:
        """Return the number of elements of a shard; uneven dims are padded."""
        key = shape, dims
        found = self._elements.get(key)
        if found is None:
            pairs = zip(shape, dims, strict=True)
            found = self._elements[key] = prod(-(-size // self.count(digits)) for size, digits in pairs)
        return found

    def counts(self) -> frozenset[int]:
        """Return all shard counts that some digits have."""
        found = {1}
        for size in self.sizes:
            found |= {size * count for count in found}
        return frozenset(found)

    def divides(self, size: int, digits: DigitTuple) -> bool:
        """Return whether a dim of `size` elements has equal shards along digits."""
        return size % self.count(digits) == 0


def used(dims: DigitsPerDim) -> set[int]:
    """Return the digits that some dim is sharded along."""
    return {digit for digits in dims for digit in digits}


def replicated(rank: int) -> Layout:
    """Return the replicated layout of a tensor."""
    return Layout(((),) * rank)
