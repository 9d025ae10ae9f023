"""The diagnosis of a program from JAX: the finding that saves most, or, of a training step, a plan that saves more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sdy.advice.lint.diagnosis import MOST_OPS, diagnosis, memory_diagnosis, root_cause
from sdy.advice.partition_summary import PartitionSummary
from sdy.compile.written_program import WrittenProgram
from sdy.cost.quantities import rounded_bytes, seconds_text
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sharded_types import static_shape
from sdy.report.boundary import boundary_values, returned_state
from sdy.search.plans.plan import ShardingPlan
from sdy.search.plans.search_plan import search_plan
from sdy.search.search_request import SearchRequest

SECONDS = 30.0  # for the plan of a report
MOST_SHARE = 0.95  # of the bytes and of the time before, with which a plan is worth a sentence


def plan_diagnosis(program: WrittenProgram[Any], facts: PartitionSummary) -> tuple[str, ...]:
    """Return the lines of the diagnosis of a program from JAX: a cause or a plan, and the edit that was tried.

    `facts` are those of the program as it will run: without the communication optimizer.
    """
    if missing := memory_diagnosis(facts, " in jax.jit"):
        return missing
    finding, plan = root_cause(facts), _short_plan(program, facts)
    saved = 0.0 if finding is None or finding.fix is None else finding.fix.saved.seconds
    if plan is not None and plan.before.seconds_in_turn - plan.cost.seconds_in_turn > saved:
        return tuple(_plan_lines(plan))
    return diagnosis(finding)


def _short_plan(program: WrittenProgram[Any], facts: PartitionSummary) -> ShardingPlan[WrittenProgram[Any]] | None:
    """Return a plan that a short search finds for a training step or a loss from JAX, if it saves bytes and time.

    The results of other programs have shardings that their users need.
    """
    names, module, hardware = program.origin.argument_names, program.module, facts.hardware
    values = boundary_values(module, names)
    is_step = returned_state(values, len(names)) or not any(static_shape(each.type) for each in values[len(names) :])
    if not is_step or len(pre_order(module)) > MOST_OPS:
        return None
    request = SearchRequest(hardware, hardware.hbm_bytes, from_scratch=True, seconds=SECONDS, is_short=True)
    try:
        plan = search_plan(program, request)
    except SdyError:
        return None  # for example because ops depend on the mesh
    before, cost = plan.before, plan.cost
    saves_bytes = cost.bytes_sent <= MOST_SHARE * before.bytes_sent
    saves_time = cost.seconds_in_turn <= MOST_SHARE * before.seconds_in_turn
    return plan if cost.fits and saves_bytes and saves_time else None


def _plan_lines(plan: ShardingPlan[Any]) -> Iterator[str]:
    before, seconds = plan.before, plan.before.seconds_in_turn - plan.cost.seconds_in_turn
    sent = f"{rounded_bytes(before.bytes_sent - plan.cost.bytes_sent)} of {rounded_bytes(before.bytes_sent)}"
    time = f"{seconds_text(seconds)} of {seconds_text(before.seconds_in_turn)}"
    yield f"diagnosis: other in_shardings save {sent} and {time} in jax.jit"
    rules = " ".join(plan.code.partition("mesh =")[0].split())
    yield f"  edit: {rules}"
    yield "  the lines of code, and perhaps better rules: `sdy search --from-scratch`"
