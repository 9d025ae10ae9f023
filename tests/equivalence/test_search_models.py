"""The plan of a shared model, or of T32, is at least as fast as the annotations of its author.

The annotations are taken off before the search, since it would otherwise fall back to them. A plan may use as much
memory as the program needs as annotated or without annotations, whichever is more. `pytest -m slow` runs this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from pathlib import Path

import pytest
from support.jax_programs.shared_models import MISSING, MODELS, STEMS

import sdy
from sdy.cost.machines.file import resolve_hardware
from sdy.cost.program_cost import ProgramCost
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import print_module
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.search.plans.plan import ShardingPlan
from sdy.search.searched_module import without_shardings
from sdy.search.sharding_search import LEAST_SECONDS

MACHINE = resolve_hardware("tpu_v5e")
SECONDS, SECONDS_OF_T32 = 30.0, 240.0
MAX_GAP = 0.01
FLOOR = 1e-9  # seconds; a ratio of times below this says nothing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not STEMS, reason=MISSING)]

Plans = dict[tuple[str, float], ShardingPlan[sdy.Program]]  # by stripped program and memory


@dataclass
class Comparison:
    """A program as its author annotated it, and the same program without annotations."""

    program: sdy.Program

    @cached_property
    def own(self) -> ProgramCost:
        """The cost of the program as annotated."""
        return self.program.optimized_for(MACHINE).cost(MACHINE)

    @cached_property
    def bare(self) -> sdy.Program:
        """The program without annotations, on the same mesh."""
        mesh = next(mesh for mesh in meshes_of(self.program.module).values() if mesh.axes)
        return sdy.Program.from_module(without_shardings(self.program.module, mesh))

    @cached_property
    def memory(self) -> float:
        """The bytes that a plan may use on a device."""
        return max(self.own.peak_bytes, self.bare.cost(MACHINE).peak_bytes)

    def plan(self, plans: Plans, seconds: float) -> ShardingPlan[sdy.Program]:
        """Return the plan for the program without annotations; equal programs are searched once."""
        key = print_module(self.bare.module), self.memory
        if key not in plans:
            plans[key] = self.bare.search(on=MACHINE, memory=self.memory, time_limit=seconds)
        return plans[key]


def ratio(comparison: Comparison, plan: ShardingPlan[sdy.Program]) -> float:
    """Return the time of a plan over that of the annotated program, after checking the bounds that hold for each."""
    own, planned = comparison.own.seconds_in_turn, plan.cost.seconds_in_turn
    assert plan.cost.peak_bytes <= comparison.memory
    # The search proposes no annotations that save less than this.
    assert planned <= own + (0.0 if plan.arguments or plan.results else LEAST_SECONDS)
    assert plan.gap is not None
    assert plan.gap <= MAX_GAP
    return max(planned, FLOOR) / max(own, FLOOR)


def geometric_mean(values: list[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def test_no_plan_is_slower_than_the_annotations_of_the_author() -> None:
    found: dict[str, float] = {}
    for name in STEMS:
        program = sdy.load(MODELS / f"{name}.mlir")
        if not any(isinstance(op, ManualComputationOp) for op in program.module.walk()):  # a shard_map has no search
            comparison = Comparison(program)
            found[name] = ratio(comparison, comparison.plan({}, SECONDS))
    assert len(found) >= 12
    assert geometric_mean(list(found.values())) <= 0.85, found


def test_no_plan_for_t32_is_slower_than_any_of_its_layouts(t32: Path) -> None:
    plans: Plans = {}
    comparisons = {path.stem: Comparison(sdy.load(path)) for path in sorted(t32.glob("*.mlir"))}
    found = {name: ratio(each, each.plan(plans, SECONDS_OF_T32)) for name, each in comparisons.items()}
    assert {name.removeprefix("t2_") for name in found} >= {"bp", "mp", "bpmp", "z2", "z3"}
    assert geometric_mean(list(found.values())) <= 0.85, found
