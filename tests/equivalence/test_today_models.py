"""Training steps of today's sizes: partitioned, proved, and verified in reduced sizes; a few layers by default."""

from __future__ import annotations

import pytest
from support.jax_programs.today_models import LlamaSizes, Model, llama, mesh_of

import sdy

pytestmark = pytest.mark.jax


def llama_405b(layers: int) -> Model:
    """Return the training step of Llama 3 405B on 2,048 devices."""
    return llama(LlamaSizes(layers=layers), mesh_of(data=16, fsdp=16, tensor=8))


def check(model: Model) -> None:
    """Check that the proof and the reduced verification accept a step."""
    program = sdy.from_jax(model.step, *model.arguments)
    assert program.prove().is_proved
    outputs = program.verify(reduced=True)
    assert outputs
    assert all(each.agrees for each in outputs)


def test_a_layer_of_llama() -> None:
    check(llama_405b(1))


@pytest.mark.slow
def test_all_layers_of_llama() -> None:
    check(llama_405b(126))
