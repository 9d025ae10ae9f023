"""Training steps of today's sizes: partitioned, proved, and verified in reduced sizes; a few layers by default."""

from __future__ import annotations

import pytest
from support.jax_programs.today_models import DeepSeekSizes, LlamaSizes, Model, deepseek, llama, mesh_of

import sdy
from sdy.evidence.runs import reduced

pytestmark = pytest.mark.jax


def llama_405b(layers: int) -> Model:
    """Return the training step of Llama 3 405B on 2,048 devices."""
    return llama(LlamaSizes(layers=layers), mesh_of(data=16, fsdp=16, tensor=8))


def deepseek_v3(layers: int, dense_layers: int) -> Model:
    """Return a training step of DeepSeek-V3 on 2,048 devices."""
    sizes = DeepSeekSizes(layers=layers, dense_layers=dense_layers)
    return deepseek(sizes, mesh_of(data=8, fsdp=8, expert=8, tensor=4))


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


@pytest.mark.slow
def test_two_layers_of_deepseek(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduced, "SECONDS_FOR_ROUNDS", 0.0)  # one round
    check(deepseek_v3(2, 0))


@pytest.mark.slow
def test_all_layers_of_deepseek() -> None:
    check(deepseek_v3(61, 3))
