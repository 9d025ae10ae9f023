"""An SSA value on all devices: one array over the distinct data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import Grid, IntArray, ascending_strides, refined


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """An array with one dim per axis of `grid`, of size 1 if the value does not vary along it, then the local dims.

    A value replicated on 4,096 devices is stored once, and an op on it is computed once.
    """

    array: Array
    grid: Grid

    def __post_init__(self) -> None:
        leading = self.array.shape[: self.grid.rank]
        if len(leading) < self.grid.rank or any(
            size not in (1, full) for size, full in zip(leading, self.grid.sizes, strict=True)
        ):
            raise ValueError(f"expected leading dims of size 1 or {self.grid.sizes}, got {leading}")

    @property
    def local_shape(self) -> tuple[int, ...]:
        """The shape on one device."""
        return self.array.shape[self.grid.rank :]

    def device_view(self, device: int) -> Array:
        """Return a view of what `device` holds. Raises: KeyError if the grid does not contain the device."""
        if not self.grid.rank:
            return self.array
        position = np.unravel_index(self.grid.position_of(device), self.grid.sizes)
        leading = self.array.shape
        return self.array[tuple(0 if leading[axis] == 1 else int(index) for axis, index in enumerate(position))]


def replicated(array: Array, grid: Grid) -> DeviceArray:
    """Return the value that has the same local array on every device of `grid`."""
    return DeviceArray(array.reshape((1,) * grid.rank + array.shape), grid)


def stacked(arrays: Array, grid: Grid) -> DeviceArray:
    """Return the value whose local arrays are listed along the first dim of `arrays`, by row-major position."""
    return DeviceArray(arrays.reshape(grid.sizes + arrays.shape[1:]), grid)


def regridded(value: DeviceArray, grid: Grid) -> DeviceArray:
    """Return the same value on `grid`, which has the same devices.

    A value on the grid of rank 0 is replicated. Raises: KeyError if `grid` contains a device that the value lacks.
    """
    if value.grid == grid:
        return value
    if not value.grid.rank:
        return replicated(value.array, grid)
    if value.grid.device_ids == grid.device_ids and value.grid.position_count == grid.position_count:
        fine = refined(grid, ascending_strides(value.grid))
        if fine is not None:
            return _coarsened(_split(value, fine), grid)
    return _moved(value, grid)


def _split(value: DeviceArray, fine: Grid) -> DeviceArray:
    """Return the value on a refinement of its grid: a reshape."""
    leading: list[int] = []
    sizes = iter(fine.sizes)
    for full, size in zip(value.grid.sizes, value.array.shape, strict=False):
        product = 1
        while product < full:
            digit = next(sizes)
            product *= digit
            leading.append(1 if size == 1 else digit)
    return DeviceArray(value.array.reshape(tuple(leading) + value.local_shape), fine)


def _coarsened(value: DeviceArray, grid: Grid) -> DeviceArray:
    """Return the value on a coarser grid: it varies along an axis if it varied along any of the axes merged into it."""
    expanded: list[int] = []
    merged: list[int] = []
    axis = 0
    for full in grid.sizes:
        first, product = axis, 1
        while product < full:
            product *= value.grid.sizes[axis]
            axis += 1
        is_same = all(size == 1 for size in value.array.shape[first:axis])
        expanded += [1] * (axis - first) if is_same else value.grid.sizes[first:axis]
        merged.append(1 if is_same else full)
    array = np.broadcast_to(value.array, tuple(expanded) + value.local_shape)
    return DeviceArray(array.reshape(tuple(merged) + value.local_shape), grid)


def _moved(value: DeviceArray, grid: Grid) -> DeviceArray:
    """Return the value on a grid without a common refinement: look up every device by its id."""
    positions: IntArray = np.array([value.grid.position_of(int(device)) for device in grid.ids], np.int64)
    full = np.broadcast_to(value.array, value.grid.sizes + value.local_shape)
    return stacked(full.reshape((-1, *value.local_shape))[positions], grid)
