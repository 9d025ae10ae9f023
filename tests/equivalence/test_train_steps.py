"""`verify` has no false alarms on training steps that amplify rounding errors.

Five by default; `pytest -m slow` verifies two hundred.
"""

from __future__ import annotations

import pytest
from support.jax_programs.train_steps import train_step

import sdy
from sdy.evidence.runs.verification import Verdict

pytestmark = pytest.mark.jax


def is_amplified(seed: int) -> bool:
    """Verify a training step, and return whether an output rounds differently by more than the tolerance."""
    case = train_step(seed)
    program = sdy.from_jax(case.function, *case.arguments)
    found = program.verify(*case.arguments)
    assert [each.problem for each in found if not each.agrees] == []
    assert found.verdict is Verdict.SAME
    return any(not each.agrees for each in found.verification.floats)


def test_five_steps() -> None:
    amplified = sum(map(is_amplified, range(5)))
    assert amplified >= 2  # otherwise the steps would show nothing


@pytest.mark.slow
def test_two_hundred_steps() -> None:
    amplified = sum(map(is_amplified, range(200)))
    assert amplified >= 60
