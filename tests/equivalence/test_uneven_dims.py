"""Uneven dims inside a program stay sharded: the bytes that devices send, and equal results."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from support.execution.on_shards import assert_same_on_shards, count_of_collectives
from support.jax_programs.uneven_functions import uneven_cases
from support.slow_cases import slow_except
from support.uneven.random_programs import UnevenProgram

import sdy
from sdy.cost.collectives import CollectiveKind
from sdy.cost.statistics import Statistics, statistics_of
from sdy.passes.export.uneven import pad_where_cheaper
from sdy.passes.export.uneven.pad_where_cheaper import is_cheaper
from sdy.program.program import Program

GATHER, REDUCE, PERMUTE = CollectiveKind.ALL_GATHER, CollectiveKind.ALL_REDUCE, CollectiveKind.COLLECTIVE_PERMUTE
FLOAT = np.dtype(np.float32).itemsize


def always(padded: Statistics, even: Statistics) -> bool:
    del padded, even
    return True


def never(padded: Statistics, even: Statistics) -> bool:
    return not always(padded, even)


@pytest.fixture
def pads_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pad even if that is not cheaper."""
    monkeypatch.setattr(pad_where_cheaper, "is_cheaper", always)


# Bytes sent

DIFFERENCES = """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x5xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %a [1:64, 0:5] : (tensor<64x5xf32>) -> tensor<63x5xf32>
  %1 = stablehlo.slice %a [0:63, 0:5] : (tensor<64x5xf32>) -> tensor<63x5xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<63x5xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<63x5xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}"""


SQUARED = DIFFERENCES.replace("reduce(%2 ", "reduce(%s ").replace(
    "  %3 =", "  %s = chlo.square %2 : tensor<63x5xf32> -> tensor<63x5xf32>\n  %3 ="
)


@pytest.mark.parametrize("text", [DIFFERENCES, SQUARED])
def test_differences_of_neighbours_exchange_one_row(text: str) -> None:
    program = Program.from_text(text)
    assert count_of_collectives(program) == {REDUCE: 1, PERMUTE: 1}
    assert statistics_of(program.partition().local).bytes_sent == 5 * FLOAT + 2 * 3 / 4 * FLOAT
    assert_same_on_shards(program, [np.random.default_rng(0).standard_normal((64, 5)).astype(np.float32)])


SEQUENCE, VOCABULARY = 64, 32
Loss = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
Gradient = Callable[[jax.Array, jax.Array, jax.Array], tuple[jax.Array, jax.Array]]


def loss_by_gather(activations: jax.Array, weights: jax.Array, tokens: jax.Array) -> jax.Array:
    logits = (activations @ weights)[:, :-1]
    scores = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(scores, tokens[:, 1:, None], -1).mean()


def loss_by_one_hot(activations: jax.Array, weights: jax.Array, tokens: jax.Array) -> jax.Array:
    scores = jax.nn.log_softmax(activations @ weights)
    return -jnp.einsum("bsv,bsv->", scores[:, :-1], jax.nn.one_hot(tokens[:, 1:], VOCABULARY)) / (4 * (SEQUENCE - 1))


def arguments() -> tuple[jax.Array, ...]:
    mesh = jax.make_mesh((2, 4), ("d", "x"), axis_types=(AxisType.Auto, AxisType.Auto))
    sharded, replicated = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (("d", "x"), ()))
    random = np.random.default_rng(0)
    return (
        cast(jax.Array, jax.device_put(random.standard_normal((4, SEQUENCE, 16)).astype(np.float32), sharded)),
        cast(jax.Array, jax.device_put(random.standard_normal((16, VOCABULARY)).astype(np.float32), replicated)),
        cast(jax.Array, jax.device_put(random.integers(0, VOCABULARY, (4, SEQUENCE)).astype(np.int32), sharded)),
    )


@pytest.mark.parametrize("loss", [loss_by_gather, loss_by_one_hot])
def test_next_token_loss_gathers_nothing(loss: Loss) -> None:
    program = sdy.from_jax(loss, *arguments())
    assert count_of_collectives(program) == {REDUCE: 1, PERMUTE: 1}
    assert statistics_of(program.partition().local).bytes_sent < 20
    assert [outcome.problem for outcome in program.verify(*arguments()) if not outcome.agrees] == []


@pytest.mark.parametrize("loss", [loss_by_gather, loss_by_one_hot])
def test_gradient_of_next_token_loss_sends_only_that_of_the_weights(loss: Loss) -> None:
    gradient = cast(Gradient, jax.grad(loss, argnums=(0, 1)))
    program = sdy.from_jax(gradient, *arguments())
    assert count_of_collectives(program) == {REDUCE: 1, PERMUTE: 1}
    assert statistics_of(program.partition().local).bytes_sent < 2 * 16 * VOCABULARY * FLOAT
    assert [outcome.problem for outcome in program.verify(*arguments()) if not outcome.agrees] == []


# Results


@pytest.mark.usefixtures("pads_always")
@pytest.mark.parametrize("name", uneven_cases())
def test_uneven_functions_compute_the_same(name: str) -> None:
    case = uneven_cases()[name]
    program = sdy.from_jax(case.function, *case.arguments)
    outcomes = program.verify(*case.arguments)
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == []


@pytest.mark.usefixtures("pads_always")
@pytest.mark.parametrize("first", slow_except([2000, 2020], range(2000, 2080, 20)))
def test_random_programs_compute_the_same(first: int) -> None:
    for program in (UnevenProgram(seed, length=6) for seed in range(first, first + 20)):
        outcomes = Program.from_text(program.text).verify(*program.inputs)
        assert [outcome.problem for outcome in outcomes if not outcome.agrees] == [], program.text


# Choice between padding and unsharding


@pytest.mark.parametrize("first", slow_except([2000], range(2000, 2040, 20)))
def test_padding_is_chosen_only_if_cheaper(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in (UnevenProgram(seed) for seed in range(first, first + 20)):
        found = statistics_of(Program.from_text(program.text).partition().local)
        with monkeypatch.context() as patch:
            patch.setattr(pad_where_cheaper, "is_cheaper", never)
            even = statistics_of(Program.from_text(program.text).partition().local)
        assert found == even or is_cheaper(found, even), program.text
