"""Price a program on all meshes of a number of devices, on several machines, as annotated and as searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

from sdy.cost.hardware import DEFAULT_MACHINE
from sdy.cost.hardware_file import resolve_hardware
from sdy.diagnostics.diagnostic import SdyError
from sdy.program.parallel.processes import Processes
from sdy.program.program import Program
from sdy.program.sweep_task import SweepTask, priced
from sdy.program.swept_meshes import swept_meshes
from sdy.report.sweep.points import Sweep, SweepCost, SweepPoint
from sdy.search.search_request import search_request

SECONDS = 30.0  # for the search on one mesh
Progress = Callable[[int, int], None]


def sweep(
    program: Program[Any],
    devices: int,
    on: Sequence[str] = (DEFAULT_MACHINE,),
    *,
    memory: float | str | None = None,
    time_limit: float = SECONDS,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Price a program on all meshes of `devices` devices, on each of the machines `on`.

    With annotations, the axes of its mesh get all sizes whose product is `devices`. A search, from scratch, has
    `time_limit` seconds on each mesh. The points are priced in parallel processes, by default one per core. `progress`
    is called with the number of points that are done, and of all points. An interrupt (Ctrl-C) returns those so far.
    A program with ops that depend on the mesh, such as manual computations, is not searched, and only priced on meshes
    that these ops can run on; the `limit` of the result names the op.
    Raises: SdyError SDY-T209 if a machine is unknown, SDY-T251 if the program can run on no mesh of `devices` devices,
    SDY-T252 if an option is malformed.
    """
    for machine in on:
        search_request(resolve_hardware(machine), memory=memory)  # checks the options
    text = program.origin.text
    swept = swept_meshes(program, devices)
    tasks = [
        SweepTask(text, program.options, machine, mesh, kind, memory, time_limit)
        for machine, (mesh, kind) in product(on, swept.cases)
    ]
    with Processes(processes) as pool:
        pending = [pool.submit(partial(priced, task)) for task in tasks]
        is_complete = False
        with suppress(KeyboardInterrupt):
            for count, _ in enumerate(as_completed(pending), 1):
                if progress is not None:
                    progress(count, len(tasks))
            is_complete = True
        done = [(task, each) for task, each in zip(tasks, pending, strict=True) if each.done()]
        return Sweep([_point(*each) for each in done], is_complete, swept.limit)


def _point(task: SweepTask, pending: Future[SweepCost]) -> SweepPoint:
    try:
        return task.point(pending.result())
    except SdyError as error:
        return task.point(None, error.diagnostics[0].message)
