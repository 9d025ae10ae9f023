"""A transformer with Adam in the layouts of the PartIR paper, and one with grouped queries, to be timed."""
# The edge to JAX, whose array functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from support.jax_programs.timed_models import cross_entropy, layer_of, model_loss
from support.jax_programs.timed_step import Shapes, Shards, TimedStep, timed_step, trained


def _transformer(on: Shards, rows: str | None, columns: str | None, words: str | None) -> Shapes:
    layers = [layer_of(on, 256, rows, columns) for _ in range(3)]
    return {"embedding": on.floats((1024, 256), words), "layers": layers}


@timed_step
def layout_batch() -> TimedStep:
    on = Shards(data=8)
    return trained(model_loss, _transformer(on, None, None, None), on.integers((16, 128), "data"))


@timed_step
def layout_model() -> TimedStep:
    on = Shards(model=8)
    return trained(model_loss, _transformer(on, None, "model", "model"), on.integers((8, 128)))


@timed_step
def layout_batch_and_model() -> TimedStep:
    on = Shards(data=4, model=2)
    return trained(model_loss, _transformer(on, None, "model", "model"), on.integers((8, 128), "data"))


@timed_step
def layout_zero_2() -> TimedStep:
    on = Shards(data=8)
    moments = _transformer(on, "data", None, "data")
    return trained(model_loss, _transformer(on, None, None, None), on.integers((8, 128), "data"), moments=moments)


@timed_step
def layout_zero_3() -> TimedStep:
    on = Shards(data=8)
    return trained(model_loss, _transformer(on, "data", None, "data"), on.integers((8, 128), "data"))


def _rotated(x: Array) -> Array:
    """Rotate pairs of features by angles that grow with the position."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None, None] * 0.1 ** jnp.linspace(0, 4, half)
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate(
        [first * jnp.cos(angles) - second * jnp.sin(angles), second * jnp.cos(angles) + first * jnp.sin(angles)], -1
    )


@timed_step
def grouped_queries_fsdp_tensor() -> TimedStep:
    on = Shards(data=4, model=2)

    def loss(params: Any, tokens: Array) -> Array:
        x = params["embedding"][tokens]
        for layer in params["layers"]:
            normed = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
            q = _rotated(jnp.einsum("bsd,dhc->bshc", normed, layer["query"]))
            k = _rotated(jnp.einsum("bsd,dhc->bshc", normed, layer["key"]))
            v = jnp.einsum("bsd,dhc->bshc", normed, layer["value"])
            grouped = q.reshape(*k.shape[:3], -1, k.shape[3])
            scores = jnp.einsum("bskgc,btkc->bkgst", grouped, k) / k.shape[3] ** 0.5
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
            mixed = jnp.einsum("bkgst,btkc->bskgc", jax.nn.softmax(scores), v).reshape(q.shape)
            x = x + jnp.einsum("bshc,hcd->bsd", mixed, layer["out"])
            gate, up = jnp.split(x @ layer["gate_up"], 2, -1)
            x = x + (jax.nn.silu(gate) * up) @ layer["down"]
        return cross_entropy(x[:, :-1] @ params["embedding"].T, tokens[:, 1:])

    layer = {
        "query": on.floats((256, 8, 32), "data", "model"),
        "key": on.floats((256, 2, 32), "data", "model"),
        "value": on.floats((256, 2, 32), "data", "model"),
        "out": on.floats((8, 32, 256), "model", None, "data"),
        "gate_up": on.floats((256, 1024), "data", "model"),
        "down": on.floats((512, 256), "model", "data"),
    }
    params = {"embedding": on.floats((1024, 256), "model", "data"), "layers": [layer] * 3}
    return trained(loss, params, on.integers((8, 128), "data"))


@timed_step
def greedy_decoding_of_a_sharded_vocabulary() -> TimedStep:
    on = Shards(data=2, model=4)

    def decode(params: Any, tokens: Array) -> Array:
        def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
            tokens, hidden = state
            hidden = jnp.tanh(params["words"][tokens] + hidden @ params["mix"])
            tokens = jnp.argmax(hidden @ params["logits"], -1).astype(jnp.int32)
            return (tokens, hidden), tokens

        return lax.scan(step, (tokens, jnp.zeros((tokens.shape[0], 512))), None, 32)[1]

    params = {
        "words": on.floats((8192, 512), "model"),
        "mix": on.floats((512, 512), None, "model"),
        "logits": on.floats((512, 8192), None, "model"),
    }
    return TimedStep(decode, (params, on.integers((64,), "data")))
