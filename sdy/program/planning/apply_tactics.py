"""Applies tactics to a program, one step after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from sdy.cost.hardware import Hardware
from sdy.model.mesh import Mesh
from sdy.program.planning.search_plan import PricedProgram, SearchedProgram, required_meshes, search_plan
from sdy.report.notation import read_mesh
from sdy.search.applied_tactics import AppliedStep, AppliedTactics
from sdy.search.search_request import search_request
from sdy.search.searched_module import name_of_mesh, on_one_mesh
from sdy.search.tactic_targets import TacticTargets, target_names
from sdy.search.tactics import Annotation, SearchRest, Tactic

P = TypeVar("P", bound=PricedProgram)
Step = Tactic | Sequence[Annotation]


def apply_tactics(
    program: P, parts: Callable[[P], SearchedProgram[P]], steps: Sequence[Step], mesh: str | None, hardware: Hardware
) -> AppliedTactics[P]:
    """Apply each step with the next priority of propagation, and price the program after it.

    `parts` returns what a search needs of a program. `mesh` is by default that of the program; on another mesh, the
    annotations of the program are dropped.
    Raises: SdyError SDY-T253 if the program has no mesh and none is given; errors of the tactics and of the search.
    """
    known = parts(program)
    chosen = required_meshes(known.module, () if mesh is None else (read_mesh(mesh),))[0]
    names = target_names(known.module, known.origin.text, known.origin.argument_names)
    program = known.annotated(on_one_mesh(known.module, chosen), ())
    found = [AppliedStep("as it was", 0, program.cost(hardware))]
    for step in steps:
        if isinstance(step, SearchRest):
            program, values = _searched(parts(program), step, hardware)
        else:
            program, values = _annotated(parts(program), step if isinstance(step, Sequence) else (step,), chosen, names)
        text = "; ".join(map(str, step)) if isinstance(step, Sequence) else str(step)
        found.append(AppliedStep(text, values, program.cost(hardware)))
    return AppliedTactics(program, chosen, found)


def _searched(program: SearchedProgram[P], tactic: SearchRest, hardware: Hardware) -> tuple[P, int]:
    """Return the program with the shardings that a search finds, and how many values these annotate."""
    options = tactic.memory, tactic.minimize
    plan = search_plan(program, search_request(hardware, None, None, *options, seconds=tactic.seconds))
    return plan.program, len(plan.arguments) + len(plan.results)


def _annotated(
    program: SearchedProgram[P], tactics: Sequence[Annotation], mesh: Mesh, names: Sequence[Sequence[str]]
) -> tuple[P, int]:
    """Return the program with the annotations of tactics, and how many values these change."""
    module = program.module
    targets = TacticTargets(module, mesh, name_of_mesh(module, mesh), names)
    priority = targets.first_priority
    for tactic in tactics:
        targets.apply(tactic, priority)
    edits = targets.edits()
    return program.annotated(module, edits), len(edits)
