"""A mesh as a list of numbered digits, so that shardings are tuples of small integers.

A digit is a piece of a mesh axis along which a prime number of devices lies. A sharding whose axis refs begin and end
between digits cuts each dim by some of them, major first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from sdy.model.axis import AxisList, AxisRef, can_all_coexist, contains
from sdy.model.axis_list import extended
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import mesh_digits

Cut = tuple[int, ...]  # the digits that cut one dim, major first


@dataclass(frozen=True, slots=True)
class Digits:
    """The digits of `mesh` in mesh order: digit i is `refs[i]`, with `sizes[i]` devices along it."""

    mesh: Mesh
    refs: AxisList
    sizes: tuple[int, ...]

    def cut(self, axes: AxisList) -> Cut:
        """The digits that `axes`, none of which ends within a digit, consist of."""
        return tuple(digit for ref in axes for digit, own in enumerate(self.refs) if contains(ref, own))

    def axes(self, cut: Iterable[int]) -> AxisList:
        """The axis refs of some digits, neighbours on the same axis as one."""
        return extended((), (self.refs[digit] for digit in cut), self.mesh)

    def outside(self, axes: Collection[AxisRef]) -> Iterator[int]:
        """The digits that are part of none of `axes`."""
        return (digit for digit, own in enumerate(self.refs) if not any(contains(ref, own) for ref in axes))


def digits_of(refs: Collection[AxisRef], mesh: Mesh) -> Digits | None:
    """The digits in which all `refs` can be said; None where two refs belong to no common split of their axis.

    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("a", 2), MeshAxis("u", 12)))
    >>> [str(ref) for ref in digits_of((), mesh).refs]
    ['"a"', '"u":(1)2', '"u":(2)2', '"u":(4)3']
    """
    return _digits(frozenset(ref for ref in refs if ref.sub_axis is not None), mesh)


@lru_cache(maxsize=4096)
def _digits(parts: frozenset[AxisRef], mesh: Mesh) -> Digits | None:
    if not can_all_coexist(parts):
        return None
    digits = mesh_digits(mesh, parts)
    return Digits(mesh, digits, tuple(map(mesh.size_of, digits)))
