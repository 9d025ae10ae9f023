"""Price a program on all meshes of a number of devices, on several machines, as annotated and as searched.

A manual computation is written for the sizes of its manual axes, and an op that contains device numbers for those of
all axes: the program is priced on meshes with these sizes only. No shardings are searched in a program with ops that
depend on the mesh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from typing import Any, NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from sdy.compile.options import CompileOptions
from sdy.cost.machines.file import resolve_hardware
from sdy.cost.machines.table import DEFAULT_MACHINE
from sdy.cost.program_cost import ProgramCost
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Severity
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import print_module
from sdy.dialects.sdy.ops import MeshOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_of
from sdy.dialects.stablehlo.collectives import DeviceIdOp
from sdy.dialects.unregistered import allow_unregistered_dialects, allows_unregistered_dialects
from sdy.model.mesh import Mesh, MeshAxis
from sdy.passes.rewriting.insertion import erase, insert
from sdy.program.parallel.processes import Processes
from sdy.program.program import Program
from sdy.report.notation import read_mesh
from sdy.report.sweep_points import Origin, Sweep, SweepCost, SweepPoint
from sdy.search.search_request import Goal, factorizations, meshes_of_devices, search_request
from sdy.search.searched_module import first_op_that_depends_on_mesh, unsearchable

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
    with Processes(processes, partial(allow_unregistered_dialects, allows_unregistered_dialects())) as pool:
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


@dataclass(frozen=True, slots=True)
class SweepTask:
    """A point to be priced in a process of its own."""

    text: str
    options: CompileOptions
    machine: str
    mesh: str
    shardings: Origin
    memory: str | float | None
    seconds: float

    def point(self, cost: SweepCost | None, problem: str = "") -> SweepPoint:
        """Return the point with its cost."""
        return SweepPoint(self.machine, self.mesh, self.shardings, cost, problem)


def priced(task: SweepTask) -> SweepCost:
    """Return the cost of a task. Raises: SdyError if the program cannot be searched or partitioned on the mesh."""
    program = replace(Program.from_text(task.text), options=task.options)
    if task.shardings is Origin.SEARCHED:
        plan = program.search(
            mesh=task.mesh, on=task.machine, memory=task.memory, from_scratch=True, time_limit=task.seconds
        )
        return _cost(plan.cost, plan.gap)
    resized = _resized(program.module, read_mesh(task.mesh))
    sized = replace(Program.from_text(print_module(resized)), options=task.options)
    return _cost(sized.optimized_for(task.machine).cost(task.machine, task.memory), None)


def _resized(module: ModuleOp, mesh: Mesh) -> ModuleOp:
    """Return a copy of a module in which its mesh has other sizes."""
    copy = copy_with_regions(module)
    for op in [op for op in copy.ops if isinstance(op, MeshOp)]:
        insert(MeshOp(op.sym_name.data, mesh), InsertPoint.before(op), op.location)
        erase(op)
    return copy


def _cost(cost: ProgramCost, gap: float | None) -> SweepCost:
    return SweepCost(
        cost.seconds_in_turn,
        cost.communication_seconds,
        Goal.BYTES.of(cost),
        cost.peak_bytes,
        cost.free_bytes,
        gap,
    )


_DEVICE_NUMBERS = ("replica_groups", "source_target_pairs")


class SweptMeshes(NamedTuple):
    """The meshes of a sweep, as text, each with the origin of the shardings; a warning if the program excludes some."""

    cases: tuple[tuple[str, Origin], ...]
    limit: Diagnostic | None


class _FixedSizes(NamedTuple):
    """The sizes of axes that an op of the program is written for."""

    op: Operation
    axes: tuple[MeshAxis, ...]

    def __str__(self) -> str:
        return f"{self.op.name} is written for {', '.join(map(str, self.axes))}"


def swept_meshes(program: Program[Any], devices: int) -> SweptMeshes:
    """Return the meshes of `devices` devices on which a sweep prices a program.

    Raises: SdyError SDY-T251 if there is none, because the program has ops that depend on the mesh; SDY-T252 if there
    are fewer than two devices.
    """
    searched = [(mesh.axes_text(","), Origin.SEARCHED) for mesh in meshes_of_devices(devices)]
    mesh = _annotated_mesh(program)
    fixed = None if mesh is None else _fixed_sizes(program, mesh)
    annotated = [] if mesh is None else list(_with_axes_of(mesh, devices, fixed))
    dependent = first_op_that_depends_on_mesh(program.module)
    if dependent is None:
        return SweptMeshes((*((each, Origin.ANNOTATED) for each in annotated), *searched), None)
    if mesh is not None and fixed is not None and not annotated:
        raise SdyError(_no_mesh(fixed, mesh, devices))
    if not annotated:
        raise SdyError(unsearchable(dependent))
    return SweptMeshes(tuple((each, Origin.ANNOTATED) for each in annotated), _limit(dependent, fixed))


def _limit(dependent: Operation, fixed: _FixedSizes | None) -> Diagnostic:
    """Return the warning that no shardings are searched, and that the axes of the program do not get all sizes."""
    if fixed is None:
        message, hint = unsearchable(dependent).message, "without this op, other shardings are searched too"
    else:
        message = f"{fixed}, so only such meshes are priced, as annotated, and no other shardings are searched"
        hint = "for other sizes, lower the program again on their mesh"
    span = span_of(dependent if fixed is None else fixed.op)
    return Diagnostic("SDY-T251", message, span, hint, severity=Severity.WARNING)


def _no_mesh(fixed: _FixedSizes, mesh: Mesh, devices: int) -> Diagnostic:
    of = "" if len(fixed.axes) == len(mesh.axes) else "a multiple of "
    count = prod(axis.size for axis in fixed.axes)
    hint = f"give {of}{count} devices, or lower the program again on a mesh of {devices}"
    return Diagnostic("SDY-T251", f"{fixed}, which no mesh of {devices} devices has", span_of(fixed.op), hint)


def _fixed_sizes(program: Program[Any], mesh: Mesh) -> _FixedSizes | None:
    """Return the axes whose sizes the program is written for, and the first op with such an axis; None without any."""
    found: dict[str, Operation] = {}
    for op in pre_order(program.module):
        names: tuple[str, ...] = ()
        if isinstance(op, ManualComputationOp):
            names = op.manual_axes.data
        elif isinstance(op, DeviceIdOp) or any(
            isinstance(op.properties.get(name), DenseElementsAttr) for name in _DEVICE_NUMBERS
        ):
            names = tuple(axis.name for axis in mesh.axes)
        for name in names:
            found.setdefault(name, op)
    axes = tuple(axis for axis in mesh.axes if axis.name in found)
    return _FixedSizes(next(iter(found.values())), axes) if axes else None


def _annotated_mesh(program: Program[Any]) -> Mesh | None:
    """Return the mesh of a program if it has one mesh and annotations."""
    meshes = [mesh for mesh in meshes_of(program.module).values() if mesh.axes]
    return meshes[0] if len(meshes) == 1 and _has_annotations(program) else None


def _has_annotations(program: Program[Any]) -> bool:
    main = main_function(program.module)
    types = main.function_type
    arguments = (argument_sharding(main, index) for index in range(len(types.inputs)))
    results = (function_result_sharding(main, index) for index in range(len(types.outputs)))
    inside = (sharding_of(value) for op in program.module.walk() for value in op.results)
    has_op = any(isinstance(op, ShardingConstraintOp | ManualComputationOp) for op in program.module.walk())
    return has_op or any(each is not None for each in (*arguments, *results, *inside))


def _with_axes_of(mesh: Mesh, devices: int, fixed: _FixedSizes | None) -> Iterator[str]:
    """Yield the meshes of `devices` devices with the axes of a mesh, where fixed axes have their sizes."""
    required = {} if fixed is None else {axis.name: axis.size for axis in fixed.axes}
    names = [axis.name for axis in mesh.axes]
    for sizes in factorizations(devices, len(names)):
        axes = tuple(MeshAxis(name, size) for name, size in zip(names, sizes, strict=True))
        if all(required.get(axis.name, axis.size) == axis.size for axis in axes):
            yield Mesh(axes).axes_text(",")
