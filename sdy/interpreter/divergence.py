"""Devices that disagree on where to go: they run in groups that agree, and their values are put together again.

Only the batch dims along which the decision varies are taken apart; along the others a group stays as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import Grid, IntArray
from sdy.interpreter.kernel import Arrays, KernelContext, Shape


class Split:
    """The batch positions of a context, grouped by an integer that each has.

    A group runs in a context with one batch dim for its positions, then the dims along which the integer is the same.
    """

    def __init__(self, context: KernelContext, decisions: Array) -> None:
        leading = context.leading(decisions)
        self.context = context
        self.varying = [axis for axis, size in enumerate(leading) if size > 1]
        self.constant = [axis for axis, size in enumerate(leading) if size == 1]
        self.count = prod(leading)  # positions along the varying dims
        # Along other dims the size is 1, so this is the order of the varying ones.
        flat = decisions.reshape(-1)
        self.places: dict[int, IntArray] = {int(key): np.flatnonzero(flat == key) for key in np.unique(flat)}

    def context_of(self, key: int) -> KernelContext:
        """Where the group of `key` runs."""
        batch = (len(self.places[key]), *(self.context.batch[axis] for axis in self.constant))
        grid = self.context.grid
        return replace(self.context, batch=batch, grid=None if grid is None else self._grid_of(grid, key, batch))

    def taken(self, arrays: Arrays, key: int) -> Arrays:
        """The values of the group of `key`."""
        return tuple(self._taken(array, key) for array in arrays)

    def merged(self, results: Mapping[int, Arrays]) -> Arrays:
        """The values of all positions, from those of each group."""
        keys = list(self.places)
        return tuple(
            self._merged(dict(zip(keys, parts, strict=True)))
            for parts in zip(*(results[key] for key in keys), strict=True)
        )

    def _grid_of(self, grid: Grid, key: int, batch: Shape) -> Grid:
        ids = grid.ids.reshape(grid.sizes).transpose([*self.varying, *self.constant])
        ids = ids.reshape((self.count, *batch[1:]))[self.places[key]]
        return Grid(batch, grid.replica_count, grid.partition_count, tuple(ids.reshape(-1).tolist()))

    def _taken(self, array: Array, key: int) -> Array:
        rank, local = self.context.rank, self.context.local(array)
        constant_sizes = tuple(array.shape[axis] for axis in self.constant)
        if all(array.shape[axis] == 1 for axis in self.varying):
            return array.reshape((1, *constant_sizes, *local))
        sizes = list(array.shape)
        for axis in self.varying:
            sizes[axis] = self.context.batch[axis]
        ordered = np.broadcast_to(array, sizes).transpose([*self.varying, *self.constant, *range(rank, array.ndim)])
        return ordered.reshape((self.count, *constant_sizes, *local))[self.places[key]]

    def _merged(self, parts: Mapping[int, Array]) -> Array:
        some = next(iter(parts.values()))
        local = some.shape[1 + len(self.constant) :]
        others = np.broadcast_shapes(*(part.shape[1 : 1 + len(self.constant)] for part in parts.values()))
        whole = np.empty((self.count, *others, *local), some.dtype)
        for key, part in parts.items():
            whole[self.places[key]] = part
        order = [*self.varying, *self.constant]
        sizes = (*(self.context.batch[axis] for axis in self.varying), *others)
        unfolded = whole.reshape(sizes + local)
        back = [order.index(axis) for axis in range(self.context.rank)]
        return unfolded.transpose([*back, *range(len(order), unfolded.ndim)])
