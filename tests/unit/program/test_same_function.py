"""Two programs, however written, are told to compute the same function, or where they part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

import sdy
from sdy.evidence.runs.verification import OutputComparisons, Verdict
from sdy.tools.main import main

MESH = AbstractMesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
Function = Callable[..., Any]
Unary = Callable[[jax.Array], jax.Array]
Binary = Callable[[jax.Array, jax.Array], jax.Array]


def by_hand(body: Function, inputs: object, output: object) -> Function:
    return jax.shard_map(body, mesh=MESH, in_specs=inputs, out_specs=output, check_vma=False)


def shape(*sizes: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, jnp.float32)


def mlp(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    return jnp.tanh(x @ up) @ down


MLP_SPECS = (P("data"), P(None, "model"), P("model"))
MLP_SHAPES = (shape(8, 16), shape(16, 32), shape(32, 16))


def psum(value: jax.Array) -> jax.Array:
    return cast(jax.Array, lax.psum(value, "model"))


def mlp_by_hand(combine: Unary) -> Function:
    def body(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
        return combine(jnp.tanh(x @ up) @ down)

    return by_hand(body, MLP_SPECS, P("data"))


def compare_unary(reference: Unary, candidate: Unary, *args: object) -> OutputComparisons:
    return sdy.same_function(reference, candidate, *args)


def compare_binary(reference: Binary, candidate: Binary, *args: object) -> OutputComparisons:
    return sdy.same_function(reference, candidate, *args)


def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    return jax.nn.softmax(q @ k.T) @ v


def ring_attention(steps: int, *, rescale: bool = True) -> Function:
    """Return attention whose keys and values travel around a ring, with a softmax that is corrected on the way."""

    def body(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        most, total, out = jnp.full((len(q), 1), -jnp.inf), jnp.zeros((len(q), 1)), jnp.zeros_like(q)
        for _ in range(steps):
            scores = q @ k.T
            larger = jnp.maximum(most, scores.max(-1, keepdims=True))
            weights, factor = jnp.exp(scores - larger), jnp.exp(most - larger)
            total = total * (factor if rescale else 1.0) + weights.sum(-1, keepdims=True)
            out = out * factor + weights @ v
            most = larger
            k, v = (lax.ppermute(each, "model", [(at, (at + 1) % 4) for at in range(4)]) for each in (k, v))
        return out / total

    return by_hand(body, P("model"), P("model"))


SEQUENCE = (shape(16, 8),) * 3


@pytest.mark.parametrize("gradients", [False, True])
def test_a_program_by_hand_is_the_plain_function(*, gradients: bool) -> None:
    found = sdy.same_function(mlp, mlp_by_hand(psum), *MLP_SHAPES, gradients=gradients)
    assert found.verdict is Verdict.SAME
    assert len(found) == (4 if gradients else 1)


@pytest.mark.parametrize("gradients", [False, True])
def test_the_law_of_the_exponential_is_known(*, gradients: bool) -> None:
    found = sdy.same_function(attention, ring_attention(4), *SEQUENCE, gradients=gradients)
    assert found.verdict is Verdict.SAME
    assert found.verification.chance < 2**-40


@pytest.mark.parametrize("wrong", [ring_attention(3), ring_attention(4, rescale=False)])
def test_a_wrong_ring_differs(wrong: Function) -> None:
    found = sdy.same_function(attention, wrong, *SEQUENCE)
    assert found.verdict is Verdict.DIFFERS
    assert found.verification.parting is None  # other values of a program that is written otherwise need not be wrong


def test_a_missing_sum_is_named_with_its_line() -> None:
    found = sdy.same_function(mlp, mlp_by_hand(lambda y: y), *MLP_SHAPES)
    parting = found.verification.parting
    assert parting is not None
    assert (
        'stablehlo.dot_general has a value that the original program does not have; the sum over "model" is missing'
        in (parting.message)
    )
    assert parting.hint == "with it, all results agree"
    assert parting.span is not None
    assert "test_same_function.py" in parting.span.source


def test_a_missing_sum_is_named_where_the_law_is_needed() -> None:
    def body(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        scores = q @ k.T
        weights = jnp.exp(scores - lax.pmax(scores.max(-1, keepdims=True), "model"))
        return (weights @ v) / psum(weights.sum(-1, keepdims=True))

    found = sdy.same_function(attention, by_hand(body, (P(), P("model"), P("model")), P()), *SEQUENCE)
    assert found.verification.parting is not None
    assert 'the sum over "model" is missing' in found.verification.parting.message


def test_a_missing_mean_is_named() -> None:
    def loss(weights: jax.Array, x: jax.Array) -> jax.Array:
        return ((x @ weights) ** 2).mean()

    step = cast(Binary, jax.grad(loss))

    found = sdy.same_function(step, by_hand(step, (P(), P("data")), P()), shape(16, 4), shape(8, 16))
    assert found.verification.parting is not None
    assert 'the mean over "data" is missing' in found.verification.parting.message


def test_a_sum_that_is_counted_twice_is_named() -> None:
    twice = mlp_by_hand(lambda y: psum(psum(y)))
    (output,) = sdy.same_function(mlp, twice, *MLP_SHAPES)
    assert output.problem.endswith("each element is 4 times the expected one")


def test_an_argument_that_one_program_ignores_is_seen() -> None:
    x = shape(8, 4)
    found = compare_binary(lambda x, mask: x * mask, lambda x, mask: x * 1.0, x, x)
    assert found.verdict is Verdict.DIFFERS


def test_where_a_law_is_lacking_floats_are_compared() -> None:
    found = compare_unary(lambda x: jnp.sin(2 * x), lambda x: 2 * jnp.sin(x) * jnp.cos(x), shape(8))
    assert found.verdict is Verdict.UNDECIDED
    assert found.verification.undecided == "exact numbers differ, and do not know all laws of cosine, sine"


def test_formulas_that_are_equal_by_a_law_must_agree_on_the_floats_that_are_given() -> None:
    def naive(x: jax.Array) -> jax.Array:
        return jnp.exp(x) / jnp.exp(x).sum()

    assert sdy.same_function(jax.nn.softmax, naive, shape(8)).verdict is Verdict.SAME
    assert sdy.same_function(jax.nn.softmax, naive, np.full(8, 1000.0, np.float32)).verdict is Verdict.DIFFERS


def test_arithmetic_is_decided_beyond_what_floats_show() -> None:
    found = compare_unary(lambda x: x, lambda x: x * (1 + 2.0**-20), shape(8))
    assert found.verdict is Verdict.DIFFERS


def test_arrays_that_are_given_keep_their_integers() -> None:
    table, places = np.ones((32, 4), np.float32), np.array([0, 5, 31])
    assert compare_binary(lambda t, i: t[i], lambda t, i: t[jnp.clip(i, 0, 31)], table, places).verdict is Verdict.SAME


def test_programs_must_have_the_same_types() -> None:
    with pytest.raises(sdy.SdyError, match=r"result 0 is .* in the reference, .* in the candidate \[SDY-V007\]"):
        compare_unary(lambda x: x, lambda x: x.T, shape(8, 4))
    one, two = sdy.from_jax(jnp.sin, shape(8)), sdy.from_jax(jnp.add, shape(8), shape(8))
    with pytest.raises(sdy.SdyError, match="the reference has 1 arguments, the candidate 2"):
        sdy.same_function(one, two)


def test_gradients_need_functions() -> None:
    program = sdy.from_jax(jnp.sin, shape(8))
    with pytest.raises(sdy.SdyError, match="SDY-T288"):
        sdy.same_function(program, program, gradients=True)
    with pytest.raises(sdy.SdyError, match=r"sdy.same_function: candidate"):
        sdy.same_function(program, 5)  # pyright: ignore[reportArgumentType]


TEXT = """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.add %a, %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"""


def test_the_command_compares_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, other = tmp_path / "sum.mlir", tmp_path / "product.mlir"
    file.write_text(TEXT)
    constant = "%c = stablehlo.constant dense<2.0> : tensor<8x4xf32>\n  %0 = stablehlo.multiply %a, %c"
    other.write_text(TEXT.replace("%0 = stablehlo.add %a, %a", constant))
    assert main(["verify", str(file), "--against", str(other)]) == 0
    assert f"the same function as {other}" in capsys.readouterr().out.replace("\n", "")
    other.write_text(TEXT.replace("stablehlo.add", "stablehlo.subtract"))
    assert main(["verify", str(file), "--against", str(other)]) == 1
    assert "differs" in capsys.readouterr().out
    assert main(["verify", str(file), "--against", str(other), "--prove"]) == 2
    assert "cannot be given with --against" in capsys.readouterr().err
