"""Prices one point of a sweep."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint

from sdy.compile.options import CompileOptions
from sdy.cost.program_cost import ProgramCost
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.module_text import print_module
from sdy.dialects.sdy.ops import MeshOp
from sdy.model.mesh import Mesh
from sdy.passes.rewriting.insertion import erase, insert
from sdy.program.program import Program
from sdy.report.notation import read_mesh
from sdy.report.sweep.points import Origin, SweepCost, SweepPoint
from sdy.search.search_request import Goal


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
