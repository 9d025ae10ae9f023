"""Attention in several spellings is one flash kernel for each direction; other products are not."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import pytest

import sdy
from sdy.cost.hardware import Kernels
from sdy.cost.kernels import attention
from sdy.cost.kernels.attention import visible_share
from sdy.cost.kernels.value_flow import Step, ValueFlow
from sdy.cost.kernels.work import Work, work_of
from sdy.cost.machines.table import HARDWARE
from sdy.dialects.module_text import parse_module

LENGTH, HEADS, CHANNELS = 2048, 4, 128
TENSOR = jax.ShapeDtypeStruct((2, LENGTH, HEADS, CHANNELS), jnp.bfloat16)
Function = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]


def plain(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    scores = jnp.einsum("bshc,bthc->bhst", q, k).astype(jnp.float32) / CHANNELS**0.5
    return jnp.einsum("bhst,bthc->bshc", jax.nn.softmax(scores).astype(q.dtype), v)


def causal(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    scores = jnp.einsum("bshc,bthc->bhst", q, k).astype(jnp.float32) / CHANNELS**0.5
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    weights = jnp.exp(jnp.where(mask, scores, -1e9))
    return jnp.einsum("bhst,bthc->bshc", (weights / weights.sum(-1, keepdims=True)).astype(q.dtype), v)


def windowed(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    row = jax.lax.broadcasted_iota(jnp.int32, (LENGTH, LENGTH), 0)
    column = jax.lax.broadcasted_iota(jnp.int32, (LENGTH, LENGTH), 1)
    scores = jnp.einsum("bshc,bthc->bhst", q, k).astype(jnp.float32)
    scores += jnp.where((row >= column) & (row - column < 512), 0.0, -1e9)
    return jnp.einsum("bhst,bthc->bshc", jax.nn.softmax(scores).astype(q.dtype), v)


def of_jax(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def gradient_of(function: Function) -> Callable[..., object]:
    def loss(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return jax.checkpoint(function)(q, k, v).astype(jnp.float32).sum()

    return jax.grad(loss, argnums=(0, 1, 2))


def works(function: Callable[..., object], *shapes: jax.ShapeDtypeStruct) -> list[Work]:
    program = sdy.from_jax(function, *(shapes or (TENSOR,) * 3))
    return [each[1] for each in work_of(program.partition().local, Kernels("gpu")).visits if each is not None]


@pytest.mark.parametrize(
    ("function", "share"), [(plain, 1.0), (causal, 0.625), (of_jax, 0.625)]
)  # of 4 x 4 blocks, 10 are on the diagonal or below
def test_scores_mask_softmax_and_product_are_one_kernel(function: Function, share: float) -> None:
    parts = [each for each in works(function) if each.attention]
    assert {each.attention for each in parts} == {1}
    assert all(each.flops == pytest.approx(share, abs=0.03) for each in parts)
    assert sum(each.starts for each in parts) == 1


def test_devices_wait_for_the_one_whose_shard_of_the_sequence_sees_the_most() -> None:
    mesh = jax.sharding.AbstractMesh((4,), ("x",))
    rows = jax.ShapeDtypeStruct(
        (1, 4 * LENGTH, HEADS, CHANNELS),
        jnp.bfloat16,
        sharding=jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(None, "x")),
    )

    def of_last_rows(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        length = k.shape[1]
        row = jax.lax.broadcasted_iota(jnp.int32, (length, length), 0)
        column = jax.lax.broadcasted_iota(jnp.int32, (length, length), 1)
        scores = jnp.einsum("bshc,bthc->bhst", q, k).astype(jnp.float32)
        weights = jax.nn.softmax(jnp.where(row >= column, scores, -1e9)).astype(q.dtype)
        return jnp.einsum("bhst,bthc->bshc", weights, v)

    whole = jax.ShapeDtypeStruct(rows.shape, jnp.bfloat16)
    parts = [each for each in works(of_last_rows, rows, whole, whole) if each.attention]
    blocks = LENGTH // 512
    last = 1 - (blocks - 1) / 8 / blocks  # of the last rows, only the blocks in the corner are empty
    assert all(each.flops == pytest.approx(last, abs=0.03) for each in parts)


def test_a_mask_of_constants_that_may_be_sharded_is_known() -> None:
    text = str(sdy.from_jax(causal, *(TENSOR,) * 3).partition()).replace("stablehlo.constant", "sdy.constant")
    parts = [each[1] for each in work_of(parse_module(text), Kernels("gpu")).visits if each is not None]
    assert {round(each.flops, 1) for each in parts if each.attention} == {0.6}


def test_a_mask_that_is_added_skips_no_blocks() -> None:
    assert {each.flops for each in works(windowed) if each.attention} == {1.0}


def test_the_backward_pass_is_a_kernel_of_its_own() -> None:
    parts = [each for each in works(gradient_of(causal)) if each.attention]
    assert {each.attention for each in parts} >= {2}


def test_no_scores_are_read_or_written() -> None:
    cost = sdy.from_jax(causal, TENSOR, TENSOR, TENSOR).cost(HARDWARE["h100"].ideal("gpu"))
    tensor = 2 * LENGTH * HEADS * CHANNELS * 2
    assert cost.memory_seconds * HARDWARE["h100"].hbm_bandwidth == pytest.approx(4 * tensor, rel=0.02)
    assert cost.attention_seconds > 0


def test_without_flash_kernels_scores_are_stored() -> None:
    cost = sdy.from_jax(causal, TENSOR, TENSOR, TENSOR).cost(HARDWARE["h100"].ideal("cpu"))
    scores = 2 * HEADS * LENGTH * LENGTH * 4
    assert cost.memory_seconds * HARDWARE["h100"].hbm_bandwidth > 2 * scores
    assert cost.attention_seconds == 0


@pytest.mark.parametrize("function", [plain, causal, windowed, of_jax])
def test_the_peak_with_flash_kernels_has_no_scores(function: Function) -> None:
    program = sdy.from_jax(jax.jit(gradient_of(function)), TENSOR, TENSOR, TENSOR)
    scores, tensor = 2 * HEADS * LENGTH * LENGTH * 4, 2 * LENGTH * HEADS * CHANNELS * 2
    with_flash, without = program.cost("h100"), program.cost(HARDWARE["h100"].ideal("cpu"))
    assert without.peak_bytes == with_flash.peak_bytes > scores
    assert with_flash.peak_bytes - with_flash.attention_bytes <= 12 * tensor < scores
    assert without.attention_bytes == 0


def test_an_mlp_a_router_and_a_loss_are_not_attention() -> None:
    def network(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
        hidden = jax.nn.softmax((x @ up).astype(jnp.float32)).astype(x.dtype)
        return hidden @ down

    x = jax.ShapeDtypeStruct((4096, 256), jnp.bfloat16)
    up = jax.ShapeDtypeStruct((256, 8192), jnp.bfloat16)
    down = jax.ShapeDtypeStruct((8192, 256), jnp.bfloat16)
    assert not any(each.attention for each in works(network, x, up, down))


def test_equal_masks_of_several_layers_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[Step] = []

    def counted(flow: ValueFlow, select: Step, scores: frozenset[int]) -> float:
        evaluated.append(select)
        return visible_share(flow, select, scores)

    monkeypatch.setattr(attention, "visible_share", counted)

    def layers(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return masked(masked(masked(q, k, v, 0), k, v, 0), k, v, 512)

    def masked(q: jax.Array, k: jax.Array, v: jax.Array, offset: int) -> jax.Array:
        row = jax.lax.broadcasted_iota(jnp.int32, (LENGTH, LENGTH), 0)
        column = jax.lax.broadcasted_iota(jnp.int32, (LENGTH, LENGTH), 1)
        scores = jnp.einsum("bshc,bthc->bhst", q, k).astype(jnp.float32)
        weights = jax.nn.softmax(jnp.where(row >= column + offset, scores, -1e9)).astype(q.dtype)
        return jnp.einsum("bhst,bthc->bshc", weights, v)

    shares = [each.flops for each in works(layers) if each.attention]
    assert len(evaluated) == 2
    assert sorted(set(shares)) == pytest.approx([6 / 16, 10 / 16], abs=0.03)
