"""Plans for the shared models, from scratch, against the annotations that their authors wrote.

All models have a machine's memory, which their programs do not fill. `pytest -m slow` runs this file.
"""

from __future__ import annotations

from math import exp, log
from pathlib import Path

import pytest

import sdy
from sdy.dialects.sdy.regions import ManualComputationOp

MODELS = Path(__file__).parents[3] / "shared" / "models"
NAMES = sorted(path.stem for path in MODELS.glob("*.mlir"))
SECONDS = 30.0
FLOOR = 1e-9  # seconds; a ratio of times below this says nothing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not NAMES, reason="the shared models do not exist")]


def times_of(name: str) -> tuple[float, float, float | None] | None:
    """Return the predicted seconds as annotated and as planned, and the gap; None for a shard_map."""
    program = sdy.load(MODELS / f"{name}.mlir")
    if any(isinstance(op, ManualComputationOp) for op in program.module.walk()):
        return None  # of a shard_map
    plan = program.search(from_scratch=True, time_limit=SECONDS)
    assert plan.cost.fits
    return plan.before.seconds_in_turn, plan.cost.seconds_in_turn, plan.gap


def test_no_plan_is_slower_than_the_annotations_of_the_author() -> None:
    found = {name: times for name in NAMES if (times := times_of(name)) is not None}
    assert len(found) >= 12
    ratios = {name: max(planned, FLOOR) / max(before, FLOOR) for name, (before, planned, _) in found.items()}
    assert max(ratios.values()) <= 1.0, ratios
    assert exp(sum(map(log, ratios.values())) / len(ratios)) <= 0.85, ratios
    assert all(gap is not None and gap <= 0.05 for _, _, gap in found.values()), found
