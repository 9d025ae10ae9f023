"""A mesh as a list of numbered digits, so that shardings are tuples of small integers.

A digit is a sub-axis with a prime number of devices. A sharding whose axis refs begin and end between digits shards
each dim along some of them, major first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from sdy.model.axis import AxisList, AxisRef, can_all_coexist, contains
from sdy.model.axis_list import extended
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import mesh_digits

DimDigits = tuple[int, ...]  # the digits that one dim is sharded along, major first


@dataclass(frozen=True, slots=True)
class Digits:
    """The digits of `mesh` in mesh order: digit i is the axis ref `refs[i]` of size `sizes[i]`."""

    mesh: Mesh
    refs: AxisList
    sizes: tuple[int, ...]

    def split(self, axes: AxisList) -> DimDigits:
        """Return the digits of `axes`, none of which begins or ends within a digit."""
        return tuple(digit for ref in axes for digit, own in enumerate(self.refs) if contains(ref, own))

    def axes(self, digits: Iterable[int]) -> AxisList:
        """Return the axis refs of digits; adjacent digits of one axis are merged."""
        return extended((), (self.refs[digit] for digit in digits), self.mesh)

    def outside(self, axes: Collection[AxisRef]) -> Iterator[int]:
        """Return the digits that are in none of `axes`."""
        return (digit for digit, own in enumerate(self.refs) if not any(contains(ref, own) for ref in axes))


def digits_of(refs: Collection[AxisRef], mesh: Mesh) -> Digits | None:
    """Return digits that all `refs` can be split into; None if two refs have no common split of their axis.

    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("a", 2), MeshAxis("u", 12)))
    >>> [str(ref) for ref in digits_of((), mesh).refs]
    ['"a"', '"u":(1)2', '"u":(2)2', '"u":(4)3']
    """
    return _digits(frozenset(ref for ref in refs if ref.sub_axis is not None), mesh)


@lru_cache(maxsize=4096)
def _digits(sub_axes: frozenset[AxisRef], mesh: Mesh) -> Digits | None:
    if not can_all_coexist(sub_axes):
        return None
    digits = mesh_digits(mesh, sub_axes)
    return Digits(mesh, digits, tuple(map(mesh.size_of, digits)))
