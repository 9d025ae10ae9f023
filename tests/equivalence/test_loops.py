"""Programs whose work is done in loops compute the same on all devices, and send no more than without the optimizer."""

from __future__ import annotations

import pytest
from support.jax_programs.loops import LOOPS, loop_program
from support.slow_cases import slow_except

from sdy.evidence.runs.verification import Verdict

pytestmark = pytest.mark.jax
# Bytes of layouts that no change of a few ops leads to.
SENT = {
    "layers and remat, columns": 1_892_352,
    "power iteration, both": 10_552,
    "training, tensor": 2_621_440,
}
KEPT = ("accumulation, rows", "training, tensor", "decoding, heads", "clusters, both", "ring attention")


@pytest.mark.parametrize("name", slow_except(KEPT, LOOPS))
def test_a_loop_computes_the_same_and_sends_no_more(name: str) -> None:
    program = loop_program(name)
    assert program.verify(reduced=True).verdict is Verdict.SAME
    sent = program.cost("tpu_v5p").bytes_sent
    assert sent <= program.without_optimizer().cost("tpu_v5p").bytes_sent


@pytest.mark.parametrize("name", SENT)
def test_all_ops_of_a_loop_change_together(name: str) -> None:
    assert loop_program(name).cost("tpu_v5p").bytes_sent <= SENT[name]
