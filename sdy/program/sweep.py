"""Price a program on all meshes of a number of devices, on several machines, as annotated and as searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint

from sdy.compile.options import CompileOptions
from sdy.cost.machines.file import resolve_hardware
from sdy.cost.machines.table import DEFAULT_MACHINE
from sdy.cost.program_cost import ProgramCost
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.module_text import print_module
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.unregistered import allow_unregistered_dialects, allows_unregistered_dialects
from sdy.model.mesh import Mesh
from sdy.passes.rewriting.insertion import erase, insert
from sdy.program.parallel.processes import Processes
from sdy.program.program import Program
from sdy.program.swept_meshes import swept_meshes
from sdy.report.notation import read_mesh
from sdy.report.sweep_points import Origin, Sweep, SweepCost, SweepPoint
from sdy.search.search_request import Goal, search_request

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
