"""Kernels of the `interpreter` dialect: printing and probing values, and running a grid of programs.

The programs of a grid run cooperatively: one at a time, until it ends or waits for an event in another one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Generic, TypeVar

import numpy as np
from xdsl.dialects.func import FuncOp

from sdy.dialects import interpreter_dialect as ops
from sdy.dialects.ir.walk import enclosing
from sdy.dialects.text.ssa_names import name_values
from sdy.interpreter.arrays.literals import tensor_text
from sdy.interpreter.devices.grid import Grid, grid_of, subgrid
from sdy.interpreter.devices.replica_groups import grid_for
from sdy.interpreter.failure import failure
from sdy.interpreter.host import Host
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable
from sdy.interpreter.ops.transfers import by_device, stack_devices

T = TypeVar("T")
Ready = Callable[[], bool]


class Lockstep(Generic[T]):
    """Runs tasks cooperatively, each in its own thread. The schedule is deterministic: the first ready task runs."""

    def __init__(self, tasks: Sequence[Callable[[], T]]) -> None:
        self._tasks = tasks
        self._changed = threading.Condition()
        self._current: int | None = 0
        self._ready: dict[int, Ready] = dict.fromkeys(range(len(tasks)), _always)
        self._results: dict[int, T] = {}
        self._errors: dict[int, BaseException] = {}

    def run(self) -> list[T]:
        """Run all tasks and return their results in order. Raises: the exception of the first task that failed."""
        # Daemon threads: an interrupt of the waiting thread must end the run without waiting for the tasks.
        threads = [
            threading.Thread(target=self._run_task, args=(index,), daemon=True) for index in range(len(self._tasks))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._results[index] for index in range(len(self._tasks))]

    def wait_until(self, ready: Ready) -> bool:
        """Let other tasks run until `ready()`; return False if all of them wait. A running task calls this."""
        if ready():
            return True
        with self._changed:
            index = self._current
            assert index is not None
            self._ready[index] = ready
            self._resume_next()
            self._changed.wait_for(lambda: self._current == index or self._current is None)
            self._ready[index] = _always
            if self._current is None:
                self._current = index
                return False
        return True

    def _run_task(self, index: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._current == index)
        try:
            self._results[index] = self._tasks[index]()
        except BaseException as error:  # noqa: BLE001 -- raised again by run(), in the thread that waits for this one
            self._errors[index] = error
        with self._changed:
            del self._ready[index]
            self._resume_next()

    def _resume_next(self) -> None:
        """Make the first ready task the current one; no task is current if every one left waits."""
        self._current = next((index for index, ready in self._ready.items() if ready()), None)
        self._changed.notify_all()


def _always() -> bool:
    return True


KERNELS = KernelTable()


@KERNELS.of(ops.PrintOp)
def print_value(op: ops.PrintOp) -> Kernel:
    """Print the value of each device, with the name that the operand has in MLIR."""
    function = enclosing(op, FuncOp)
    assert function is not None  # only functions run
    name = name_values(function, unique=False)[op.operand]

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        for _, (value,) in by_device(context, arrays):
            context.host.write(f"%{name} = {tensor_text(value, op.operand.type)}\n")
        return ()

    return kernel


@KERNELS.of(ops.ProbeOp)
def probe(op: ops.ProbeOp) -> Kernel:
    """Return the operand, and record on the host what each device holds."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        for _, (value,) in by_device(context, arrays):
            context.host.keep_probe(op.probe_id.data, value)
        return arrays

    return kernel


@KERNELS.of(ops.RunParallelOp)
def run_parallel(op: ops.RunParallelOp) -> Kernel:
    """Run one program per replica and partition: devices of one program at once, different programs cooperatively."""
    rows = [[name.string_value() for name in row] for row in op.programs]
    feed = [name.string_value() for name in op.infeed or ()]
    if not rows or len({len(row) for row in rows}) > 1 or not rows[0]:
        lengths = ", ".join(str(len(row)) for row in rows)
        raise failure("SDY-X013", f"rows of programs must have one length, got {lengths or 'no rows'}")

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        if context.batch:
            raise failure("SDY-X013", "run_parallel must run on one device")
        names = list(chain.from_iterable(rows))
        host = replace(context.host, infeed=deque(feed), channels={})
        grid = grid_of(partition_count=len(rows[0]), replica_count=len(rows))
        inputs = _inputs_of_each(context, names, arrays)
        return tuple(chain.from_iterable(_run(context, host, grid, names, inputs)))

    return kernel


def _inputs_of_each(context: KernelContext, names: Sequence[str], arrays: Arrays) -> list[Arrays]:
    """Return the inputs of each program. Raises: SdyError SDY-X013 if there are too many or too few."""
    counts = [len(context.runner.function(name).body.block.args) for name in names]
    if sum(counts) != len(arrays):
        raise failure("SDY-X013", f"expected {sum(counts)} inputs for the arguments of all programs, got {len(arrays)}")
    rest = iter(arrays)
    return [tuple(next(rest) for _ in range(count)) for count in counts]


def _run(
    context: KernelContext, host: Host, grid: Grid, names: Sequence[str], inputs: Sequence[Arrays]
) -> list[Arrays]:
    """Run the programs and return the results of each, in the order of devices."""
    groups = {name: [index for index, other in enumerate(names) if other == name] for name in names}
    grids = {name: subgrid(grid, np.array(indices)) if len(groups) > 1 else grid for name, indices in groups.items()}
    grids = {
        name: grid_for(part, context.runner.groups_within(context.runner.function(name)))
        for name, part in grids.items()
    }

    def task(name: str) -> Callable[[], list[Arrays]]:
        def run() -> list[Arrays]:
            part = grids[name]
            where = replace(context, batch=part.sizes, grid=part, host=host)
            stacked = stack_devices(part, [inputs[index] for index in groups[name]])
            with np.errstate(all="ignore"):  # a thread does not inherit NumPy's error state
                results = context.runner.call(where, name, stacked)
            return [held for _, held in by_device(where, results)]

        return run

    lockstep = Lockstep([task(name) for name in groups])
    host.wait_until = lockstep.wait_until
    by_index: dict[int, Arrays] = {}
    for indices, results in zip(groups.values(), lockstep.run(), strict=True):
        by_index |= dict(zip(indices, results, strict=True))
    return [by_index[index] for index in range(len(names))]
