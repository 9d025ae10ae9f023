"""Prices one point of a sweep: reads a task as JSON from the standard input, and prints its cost as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint

from sdy.cost.program_cost import ProgramCost
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import print_module
from sdy.dialects.sdy.ops import MeshOp
from sdy.model.mesh import Mesh
from sdy.passes.rewriting.insertion import erase, insert
from sdy.program.planning.sweep import SweepTask
from sdy.program.program import Program
from sdy.report.notation import read_mesh
from sdy.report.sweep.points import Origin, SweepCost
from sdy.search.goal import Goal


def priced(task: SweepTask) -> SweepCost:
    """Return the cost of a task. Raises: SdyError if the program cannot be searched or partitioned on the mesh."""
    program = Program.from_text(task.text)
    if Origin(task.shardings) is Origin.SEARCHED:
        plan = program.search(
            mesh=task.mesh, on=task.machine, memory=task.memory, from_scratch=True, time_limit=task.seconds
        )
        return _cost(plan.cost, plan.gap)
    sized = Program.from_text(print_module(_resized(program.module, read_mesh(task.mesh))))
    return _cost(sized.optimized_for(task.machine).cost(task.machine, task.memory), None)


def main() -> int:
    """Price the task on the standard input."""
    task = SweepTask(**json.load(sys.stdin))
    try:
        found, problem = asdict(priced(task)), ""
    except SdyError as error:
        found, problem = None, error.diagnostics[0].message
    print(json.dumps({"cost": found, "problem": problem}))
    return 0


def _resized(module: ModuleOp, mesh: Mesh) -> ModuleOp:
    """Return a copy of a module in which its mesh has other sizes."""
    copy = module.clone()
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


if __name__ == "__main__":
    sys.exit(main())
