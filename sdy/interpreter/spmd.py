"""Run a per-device program on all devices at once: every op is one NumPy call over the distinct data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from sdy.interpreter.devices.grid import Grid
from sdy.interpreter.devices.replica_groups import grid_for
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.interpreter.executor import Executor, OpObserver
from sdy.interpreter.host import Host
from sdy.interpreter.inputs import check_inputs
from sdy.interpreter.kernel import KernelContext


def run_spmd(
    module: ModuleOp,
    inputs: Sequence[DeviceArray],
    grid: Grid,
    function: str = "main",
    host: Host | None = None,
    observer: OpObserver | None = None,
) -> list[DeviceArray]:
    """Run a function on every device of `grid` and return what each device holds of the results.

    The grid of the results refines `grid` where replica groups need its axes split.
    Raises: as `interpret`; SDY-X009 or SDY-X010 if the groups of a collective do not match the devices.
    """
    executor = Executor(module, observer)
    body = executor.function(function)
    check_inputs(body, [(value.local_shape, value.array.dtype) for value in inputs])
    fine = grid_for(grid, executor.groups_within(body))
    context = KernelContext(batch=fine.sizes, grid=fine, runner=executor, host=host or Host())
    arguments = tuple(regridded(value, fine).array for value in inputs)
    return [DeviceArray(np.asarray(array), fine) for array in executor.run(context, function, arguments)]
