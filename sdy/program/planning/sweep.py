"""Price a program on all meshes of a number of devices, on several machines, as annotated and as searched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

from sdy.cost.hardware import DEFAULT_MACHINE
from sdy.cost.hardware_file import resolve_hardware
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_of
from sdy.model.mesh import Mesh, MeshAxis
from sdy.program.parallel.processes import Processes
from sdy.program.planning.sweep_task import SweepTask, priced
from sdy.program.program import Program
from sdy.report.sweep.points import Origin, Sweep, SweepCost, SweepPoint
from sdy.search.search_request import meshes_of_devices, search_request

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
    Raises: SdyError SDY-T209 if a machine is unknown, SDY-T252 if an option is malformed.
    """
    for machine in on:
        search_request(resolve_hardware(machine), memory=memory)  # checks the options
    text = program.origin.text
    cases = [*_annotated_meshes(program, devices), *_searched_meshes(devices)]
    tasks = [SweepTask(text, machine, mesh, kind, memory, time_limit) for machine, (mesh, kind) in product(on, cases)]
    with Processes(processes) as pool:
        pending = [pool.submit(partial(priced, task)) for task in tasks]
        is_complete = False
        with suppress(KeyboardInterrupt):
            for count, _ in enumerate(as_completed(pending), 1):
                if progress is not None:
                    progress(count, len(tasks))
            is_complete = True
        done = [(task, each) for task, each in zip(tasks, pending, strict=True) if each.done()]
        return Sweep([_point(*each) for each in done], is_complete)


def _point(task: SweepTask, pending: Future[SweepCost]) -> SweepPoint:
    try:
        return task.point(pending.result())
    except SdyError as error:
        return task.point(None, error.diagnostics[0].message)


def _searched_meshes(devices: int) -> Iterator[tuple[str, Origin]]:
    for mesh in meshes_of_devices(devices):
        yield _mesh_text(mesh), Origin.SEARCHED


def _annotated_meshes(program: Program[Any], devices: int) -> Iterator[tuple[str, Origin]]:
    """Yield the meshes with the axes of the program, if the program has one mesh and annotations."""
    meshes = [mesh for mesh in meshes_of(program.module).values() if mesh.axes]
    if len(meshes) != 1 or not _has_annotations(program):
        return
    names = [axis.name for axis in meshes[0].axes]
    for sizes in _ordered_factorizations(devices, len(names)):
        axes = (MeshAxis(name, size) for name, size in zip(names, sizes, strict=True))
        yield _mesh_text(Mesh(tuple(axes))), Origin.ANNOTATED


def _has_annotations(program: Program[Any]) -> bool:
    main = main_function(program.module)
    types = main.function_type
    arguments = (argument_sharding(main, index) for index in range(len(types.inputs)))
    results = (function_result_sharding(main, index) for index in range(len(types.outputs)))
    inside = (sharding_of(value) for op in program.module.walk() for value in op.results)
    has_constraint = any(isinstance(op, ShardingConstraintOp) for op in program.module.walk())
    return has_constraint or any(each is not None for each in (*arguments, *results, *inside))


def _ordered_factorizations(count: int, length: int) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of `length` sizes, each at least 1, whose product is `count`; the larger first sizes first."""
    if length == 1:
        yield (count,)
        return
    for first in range(count, 0, -1):
        if count % first == 0:
            yield from ((first, *rest) for rest in _ordered_factorizations(count // first, length - 1))


def _mesh_text(mesh: Mesh) -> str:
    return ",".join(f"{axis.name}={axis.size}" for axis in mesh.axes)
