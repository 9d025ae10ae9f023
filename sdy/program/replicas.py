"""Whether devices that should hold the same shard do."""

from __future__ import annotations

import numpy as np

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.interpreter.devices.grid import axes_of_ref, grid_of_mesh
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.model.devices.placement import TensorPlacement
from sdy.program.comparison import compare

_HINT = "a manual computation promised equal copies and broke its word; without one, please report it: sdy is wrong"


def disagreeing_devices(value: DeviceArray, place: TensorPlacement, index: int) -> None:
    """Compare the copies of result `index` along the axes that its sharding does not use.

    Raises: SdyError SDY-X101 where two of them differ.
    """
    grid = grid_of_mesh(place.mesh, place.sharding.axis_refs())
    array = regridded(value, grid).array
    used = {
        axis
        for ref in (*(ref for dim in place.sharding.dims for ref in dim.axes), *place.sharding.unreduced)
        for axis in axes_of_ref(grid, ref, place.mesh)
    }
    for axis in range(grid.rank):
        if axis in used or array.shape[axis] == 1:
            continue
        first = np.take(array, [0], axis=axis)
        outcome = compare(index, array, np.broadcast_to(first, array.shape))
        if not outcome.agrees:
            message = f"devices hold different copies of result {index}: {outcome.problem}"
            raise SdyError(Diagnostic("SDY-X101", message, hint=_HINT))
