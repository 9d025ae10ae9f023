"""Groups of dims of a reshape: the shortest runs of dims of both sides with equal numbers of elements.

Source: docs/spec/06, 3.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from sdy.model.shape import StaticShape


@dataclass(frozen=True, slots=True)
class ReshapeGroup:
    """Consecutive dims before and after a reshape that hold the same elements."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    sizes_before: StaticShape
    sizes_after: StaticShape

    @property
    def is_pass_through(self) -> bool:
        """Return whether each side has at most one dim whose size is not 1."""
        return _count(self.sizes_before) <= 1 and _count(self.sizes_after) <= 1

    @property
    def is_split(self) -> bool:
        """Return whether at most one dim, ignoring dims of size 1, is split into several."""
        return _count(self.sizes_before) <= 1 < _count(self.sizes_after)


def reshape_groups(before: StaticShape, after: StaticShape) -> tuple[ReshapeGroup, ...]:
    """Return the groups in order; trailing dims of size 1 form groups that are empty on the other side.

    >>> [(group.before, group.after) for group in reshape_groups((6, 4), (2, 3, 4))]
    [((0,), (0, 1)), ((1,), (2,))]
    """
    groups: list[ReshapeGroup] = []
    done = [0, 0]
    shapes = (before, after)
    while done[0] < len(before) or done[1] < len(after):
        ends = [min(begin + 1, len(shape)) for begin, shape in zip(done, shapes, strict=True)]
        while (grown := _side_to_grow(shapes, done, ends)) is not None:
            ends[grown] += 1
        runs = [tuple(range(begin, end)) for begin, end in zip(done, ends, strict=True)]
        sizes = [shape[begin:end] for shape, begin, end in zip(shapes, done, ends, strict=True)]
        groups.append(ReshapeGroup(runs[0], runs[1], sizes[0], sizes[1]))
        done = ends
    return tuple(groups)


def _side_to_grow(shapes: tuple[StaticShape, StaticShape], begins: list[int], ends: list[int]) -> int | None:
    """Return the side with fewer elements so far, None if both agree or the side has no further dims."""
    products = [prod(shape[begin:end]) for shape, begin, end in zip(shapes, begins, ends, strict=True)]
    if products[0] == products[1]:
        return None
    smaller = int(products[1] < products[0])
    return smaller if ends[smaller] < len(shapes[smaller]) else None


def _count(sizes: StaticShape) -> int:
    return sum(size != 1 for size in sizes)
