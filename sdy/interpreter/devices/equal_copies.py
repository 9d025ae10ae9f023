"""Checks that devices hold equal copies of a result, up to rounding."""

from __future__ import annotations

import numpy as np

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.interpreter.arrays.rounding_errors import allowed_error, errors, first_difference
from sdy.interpreter.devices.grid import axes_of_ref, grid_of_mesh
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.model.devices.placement import TensorPlacement

_HINT = (
    "a manual computation returned values that do not match its out_shardings; if there is none, report a bug in sdy"
)


def check_equal_copies(value: DeviceArray, placement: TensorPlacement, index: int) -> None:
    """Check that devices hold equal copies of result `index` along the axes that its sharding does not use.

    Raises: SdyError SDY-X101 if two copies differ.
    """
    sharding = placement.sharding
    grid = grid_of_mesh(placement.mesh, sharding.axis_refs())
    array = regridded(value, grid).array
    used = {
        axis
        for ref in (*(ref for dim in sharding.dims for ref in dim.axes), *sharding.unreduced)
        for axis in axes_of_ref(grid, ref, placement.mesh)
    }
    for axis in range(grid.rank):
        if axis in used or array.shape[axis] == 1:
            continue
        first = np.take(array, [0], axis=axis)
        expected = np.broadcast_to(first, array.shape)
        error, magnitude = errors(array, expected)
        differs = error > allowed_error(array.dtype, magnitude)
        if differs.any():
            problem = first_difference(array, expected, differs)
            message = f"devices hold different copies of result {index}: {problem}"
            raise SdyError(Diagnostic("SDY-X101", message, hint=_HINT))
