"""A mesh as a list of numbered digits, so that shardings are tuples of small integers, fast to compare and hash.

A digit is a sub-axis that is not split further: an axis of 8 devices has three digits of size 2, or is one digit. A
sharding whose axis refs begin and end between digits shards each dim along some of them, major first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

from sdy.model.axis import AxisList, AxisRef, can_all_coexist, contains
from sdy.model.axis_list import extended
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import mesh_digits
from sdy.model.shape import StaticShape

DigitTuple = tuple[int, ...]  # the digits that one dim is sharded along, major first
DigitsPerDim = tuple[DigitTuple, ...]  # by dim


@dataclass(frozen=True, slots=True)
class NumberedDigits:
    """The digits of a mesh in mesh order: digit number i is the axis ref `refs[i]` of size `sizes[i]`."""

    mesh: Mesh
    refs: AxisList
    sizes: StaticShape
    _counts: dict[DigitTuple, int] = field(default_factory=dict[DigitTuple, int], compare=False, repr=False)
    _shards: dict[DigitsPerDim, int] = field(default_factory=dict[DigitsPerDim, int], compare=False, repr=False)
    _elements: dict[tuple[StaticShape, DigitsPerDim], int] = field(
        default_factory=dict[tuple[StaticShape, DigitsPerDim], int], compare=False, repr=False
    )

    @staticmethod
    def of(mesh: Mesh, sub_axes: Collection[AxisRef] = ()) -> NumberedDigits:
        """Return the prime factors of the axes. No ref of `sub_axes`, which can coexist, ends within a digit."""
        refs = mesh_digits(mesh, sub_axes)
        return NumberedDigits(mesh, refs, tuple(map(mesh.size_of, refs)))

    @staticmethod
    def full_axes(mesh: Mesh) -> NumberedDigits:
        """Return the axes of more than one device."""
        axes = [axis for axis in mesh.axes if axis.size > 1]
        return NumberedDigits(mesh, tuple(AxisRef(axis.name) for axis in axes), tuple(axis.size for axis in axes))

    @property
    def device_count(self) -> int:
        """The number of devices of the mesh."""
        return self.mesh.device_count

    def split(self, axes: Collection[AxisRef]) -> DigitTuple | None:
        """Return the digits of axis refs; None if a ref begins or ends within a digit."""
        digits = self.inside(axes)
        return digits if self.count(digits) == prod(map(self.mesh.size_of, axes)) else None

    def inside(self, axes: Iterable[AxisRef]) -> DigitTuple:
        """Return the digits that axis refs contain."""
        return tuple(number for ref in axes for number, digit in enumerate(self.refs) if contains(ref, digit))

    def join(self, digits: Iterable[int]) -> AxisList:
        """Return the axis refs of digits; adjacent digits of one axis are merged."""
        return extended((), (self.refs[digit] for digit in digits), self.mesh)

    def outside(self, axes: Collection[AxisRef]) -> Iterator[int]:
        """Yield the digits that are in none of `axes`."""
        return (number for number, digit in enumerate(self.refs) if not any(contains(ref, digit) for ref in axes))

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


def digits_of(refs: Collection[AxisRef], mesh: Mesh) -> NumberedDigits | None:
    """Return prime digits that all `refs` can be split into; None if two refs have no common split of their axis.

    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("a", 2), MeshAxis("u", 12)))
    >>> [str(ref) for ref in digits_of((), mesh).refs]
    ['"a"', '"u":(1)2', '"u":(2)2', '"u":(4)3']
    """
    return _digits(frozenset(ref for ref in refs if ref.sub_axis is not None), mesh)


@lru_cache(maxsize=4096)
def _digits(sub_axes: frozenset[AxisRef], mesh: Mesh) -> NumberedDigits | None:
    return NumberedDigits.of(mesh, sub_axes) if can_all_coexist(sub_axes) else None
