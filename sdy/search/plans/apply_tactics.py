"""Applies tactics to a program, one step after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from sdy.advice.annotated_program import with_module
from sdy.compile.written_program import WrittenProgram
from sdy.cost.hardware import Hardware
from sdy.model.mesh import Mesh
from sdy.report.notation import read_mesh
from sdy.search.plans.applied_tactics import AppliedStep, AppliedTactics
from sdy.search.plans.search_plan import required_meshes, search_plan
from sdy.search.search_request import search_request
from sdy.search.searched_module import name_of_mesh, on_one_mesh
from sdy.search.tactic_targets import TacticTargets, target_names
from sdy.search.tactics import Annotation, SearchRest, Tactic

P = TypeVar("P", bound=WrittenProgram[Any])
Step = Tactic | Sequence[Annotation]


def apply_tactics(program: P, steps: Sequence[Step], mesh: str | None, hardware: Hardware) -> AppliedTactics[P]:
    """Apply each step with the next priority of propagation, and price the program after it.

    `mesh` is by default that of the program; on another mesh, the
    annotations of the program are dropped.
    Raises: SdyError SDY-T253 if the program has no mesh and none is given; errors of the tactics and of the search.
    """
    chosen = required_meshes(program.module, () if mesh is None else (read_mesh(mesh),))[0]
    names = target_names(program.module, program.origin.text, program.origin.argument_names)
    program = with_module(program, on_one_mesh(program.module, chosen))
    found = [AppliedStep("as it was", 0, program.cost(hardware))]
    for step in steps:
        if isinstance(step, SearchRest):
            program, values = _searched(program, step, hardware)
        else:
            program, values = _annotated(program, step if isinstance(step, Sequence) else (step,), chosen, names)
        text = "; ".join(map(str, step)) if isinstance(step, Sequence) else str(step)
        found.append(AppliedStep(text, values, program.cost(hardware)))
    return AppliedTactics(program, chosen, found)


def _searched(program: P, tactic: SearchRest, hardware: Hardware) -> tuple[P, int]:
    """Return the program with the shardings that a search finds, and how many values these annotate."""
    options = tactic.memory, tactic.minimize
    plan = search_plan(program, search_request(hardware, None, None, *options, seconds=tactic.seconds))
    return plan.program, len(plan.arguments) + len(plan.results)


def _annotated(program: P, tactics: Sequence[Annotation], mesh: Mesh, names: Sequence[Sequence[str]]) -> tuple[P, int]:
    """Return the program with the annotations of tactics, and how many values these change."""
    module = program.module
    targets = TacticTargets(module, mesh, name_of_mesh(module, mesh), names)
    priority = targets.first_priority
    for tactic in tactics:
        targets.apply(tactic, priority)
    edits = targets.edits()
    return with_module(program, module, edits), len(edits)
