"""The axes of a mesh, split so that collectives move devices along complete digits.

An axis of size 16 that changes places with one of size 8 does so in parts, of sizes 2 and 8, for example.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from sdy.interpreter.devices.grid import Grid, refined, strides_of
from sdy.interpreter.devices.replica_groups import GroupingStrategy, ReplicaGroups, grid_for

Rows = tuple[tuple[int, ...], ...]


def axis_digits(sizes: Sequence[int], groups: Iterable[Rows], transfers: Iterable[Rows]) -> tuple[tuple[int, ...], ...]:
    """Return, per axis of a mesh, the sizes of its digits, major first; an axis of size 1 has no digits.

    `groups` are replica groups, `transfers` pairs of a source and a target. As many of them as possible are products of
    digits, and change the order of digits.
    """
    count = int(np.prod(sizes))
    rows = (ReplicaGroups(each, GroupingStrategy.FLATTENED_IDS) for each in groups)
    grid = grid_for(Grid(tuple(size for size in sizes if size > 1), 1, count), rows)
    for pairs in dict.fromkeys(transfers):
        finer = refined(grid, _strides_of_transfer({pair[0]: pair[1] for pair in pairs}, count))
        grid = grid if finer is None else finer
    strides = strides_of(grid.sizes)
    ends = strides_of(tuple(sizes))
    return tuple(
        tuple(high // low for high, low in pairwise(strides) if high <= end and low >= start)
        for end, start in pairwise(ends)
    )


def _strides_of_transfer(targets: dict[int, int], count: int) -> set[int]:
    """Return the strides at which the digits of devices begin, if each device sends to one with its digits reordered.

    A device that is not listed keeps its data.
    """
    found: set[int] = set()
    stride = 1
    while stride < count:
        image = targets.get(stride, stride)
        size = next((n for n in range(2, count // stride) if targets.get(n * stride, n * stride) != n * image), None)
        end = count if size is None else size * stride
        found |= {stride, end, image, image * (end // stride)}
        stride = end
    return {each for each in found if 0 < each <= count}
