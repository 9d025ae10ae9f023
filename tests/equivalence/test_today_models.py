"""Training steps of today's sizes: partitioned, proved, and verified in reduced sizes; a few layers by default."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from support.jax_programs.today_models import LlamaSizes, Model, llama, mesh_of

import sdy

pytestmark = pytest.mark.jax
PROOF_SECONDS, REDUCED_SECONDS = 60, 120  # of CPU, for all layers


def llama_405b(layers: int) -> Model:
    """Return the training step of Llama 3 405B on 2,048 devices."""
    return llama(LlamaSizes(layers=layers), mesh_of(data=16, fsdp=16, tensor=8))


def seconds_of(call: Callable[[], bool]) -> float:
    """Return the CPU seconds of a call, which must return True."""
    start = time.process_time()
    assert call()
    return time.process_time() - start


def check(model: Model) -> tuple[float, float]:
    """Check that the proof and the reduced verification accept a step; return their CPU seconds."""
    program = sdy.from_jax(model.step, *model.arguments)
    program.partition()  # so that it is not counted
    proof = seconds_of(lambda: program.prove().is_proved)
    reduced = seconds_of(lambda: all(each.agrees for each in program.verify(reduced=True)))
    return proof, reduced


def test_a_layer_of_llama() -> None:
    check(llama_405b(1))


@pytest.mark.slow
def test_all_layers_of_llama() -> None:
    proof, reduced = check(llama_405b(126))
    assert proof < PROOF_SECONDS
    assert reduced < REDUCED_SECONDS
