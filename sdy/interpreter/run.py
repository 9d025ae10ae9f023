"""Run a program on one device, or the program of each device on all devices at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import ONE_DEVICE, Grid
from sdy.interpreter.devices.replica_groups import grid_for
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.interpreter.executor import CompiledBlocks, Executor, OpObserver
from sdy.interpreter.field.numbers import Field
from sdy.interpreter.host import Host
from sdy.interpreter.inputs import check_inputs
from sdy.interpreter.kernel import KernelContext


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run.

    The `observer` is called after each op. A module whose floats are numbers of a finite field runs in `field`.
    `compiled` keeps the compiled blocks of the module from one run to the next; runs with and without an observer must
    not share them. `host` is the host side of the run, by default a new one.
    """

    observer: OpObserver | None = None
    field: Field | None = None
    compiled: CompiledBlocks | None = None
    host: Host | None = None


def interpret(
    module: ModuleOp,
    inputs: Sequence[Array] = (),
    function: str = "main",
    host: Host | None = None,
    settings: RunSettings | None = None,
) -> list[Array]:
    """Run a function on one device and return one array per result, which may share memory with inputs and constants.

    Raises: SdyError at an op that cannot be run or whose check fails; SDY-X004 if the function does not exist;
    SDY-X006 or SDY-X007 if the inputs do not match its arguments.
    """
    how = settings or RunSettings()
    executor = Executor(module, how.observer, how.compiled)
    check_inputs(executor.function(function), [(array.shape, array.dtype) for array in inputs])
    context = KernelContext(
        batch=(), grid=ONE_DEVICE, runner=executor, host=how.host or host or Host(), field=how.field
    )
    return [np.asarray(result) for result in executor.run(context, function, tuple(inputs))]


def run_spmd(
    module: ModuleOp,
    inputs: Sequence[DeviceArray],
    grid: Grid,
    function: str = "main",
    host: Host | None = None,
    settings: RunSettings | None = None,
) -> list[DeviceArray]:
    """Run a function on every device of `grid` and return what each device holds of the results.

    The grid of the results refines `grid` where replica groups need its axes split.
    Raises: as `interpret`; SDY-X009 or SDY-X010 if the groups of a collective do not match the devices.
    """
    how = settings or RunSettings()
    executor = Executor(module, how.observer, how.compiled)
    body = executor.function(function)
    check_inputs(body, [(value.local_shape, value.array.dtype) for value in inputs])
    fine = grid_for(grid, executor.groups_within(body))
    context = KernelContext(
        batch=fine.sizes, grid=fine, runner=executor, host=how.host or host or Host(), field=how.field
    )
    arguments = tuple(regridded(value, fine).array for value in inputs)
    return [DeviceArray(np.asarray(array), fine) for array in executor.run(context, function, arguments)]
