"""Training steps of models, loops over time and space, and decoding, to be timed."""
# The edge to JAX, whose array functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from support.jax_programs.timed_step import Shapes, Shards, TimedStep, timed_step, trained


def _perceptron(params: Any, x: Array) -> Array:
    return jnp.mean((jax.nn.gelu(x @ params["up"]) @ params["down"] - x) ** 2)


@timed_step
def mlp_data_parallel() -> TimedStep:
    on = Shards(data=8)
    weights = {"up": on.floats((512, 2048)), "down": on.floats((2048, 512))}
    return trained(_perceptron, weights, on.floats((2048, 512), "data"))


@timed_step
def mlp_fsdp_tensor() -> TimedStep:
    on = Shards(data=4, model=2)
    weights = {"up": on.floats((512, 2048), "data", "model"), "down": on.floats((2048, 512), "model", "data")}
    return trained(_perceptron, weights, on.floats((2048, 512), "data"))


def block(x: Array, layer: Any, heads: int) -> Array:
    """Run a layer of a transformer."""
    normed = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    batch, length, width = x.shape
    q, k, v = (
        (normed @ layer[name]).reshape(batch, length, heads, width // heads) for name in ("query", "key", "value")
    )
    scores = jnp.einsum("bshd,bthd->bhst", q, k) / (width // heads) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores), v).reshape(x.shape)
    x = x + mixed @ layer["out"]
    normed = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    return x + jax.nn.gelu(normed @ layer["up"]) @ layer["down"]


def cross_entropy(logits: Array, targets: Array) -> Array:
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1)
    return -jnp.mean(chosen)


def layer_of(on: Shards, width: int, rows: str | None, columns: str | None, stacked: tuple[int, ...] = ()) -> Shapes:
    lead = (None,) * len(stacked)
    square = {name: on.floats((*stacked, width, width), *lead, rows, columns) for name in ("query", "key", "value")}
    return square | {
        "out": on.floats((*stacked, width, width), *lead, columns, rows),
        "up": on.floats((*stacked, width, 4 * width), *lead, rows, columns),
        "down": on.floats((*stacked, 4 * width, width), *lead, columns, rows),
    }


def model_loss(params: Any, tokens: Array) -> Array:
    x = params["embedding"][tokens]
    for layer in params["layers"]:
        x = block(x, layer, 8)
    return cross_entropy(x[:, :-1] @ params["embedding"].T, tokens[:, 1:])


@timed_step
def transformer_fsdp_tensor() -> TimedStep:
    on = Shards(data=4, model=2)
    layers = [layer_of(on, 256, "data", "model") for _ in range(4)]
    params = {"embedding": on.floats((1024, 256), "model", "data"), "layers": layers}
    return trained(model_loss, params, on.integers((8, 128), "data"))


@timed_step
def transformer_megatron() -> TimedStep:
    on = Shards(data=2, model=4)
    layers = [layer_of(on, 256, None, "model") for _ in range(4)]
    params = {"embedding": on.floats((1024, 256), "model"), "layers": layers}
    return trained(model_loss, params, on.integers((8, 128), "data"))


@timed_step
def scan_over_layers_fsdp() -> TimedStep:
    on = Shards(data=8)

    def loss(params: Any, tokens: Array) -> Array:
        x, _ = lax.scan(lambda x, layer: (block(x, layer, 4), None), params["embedding"][tokens], params["layers"])
        return cross_entropy(x[:, :-1] @ params["embedding"].T, tokens[:, 1:])

    params = {"embedding": on.floats((512, 128), "data"), "layers": layer_of(on, 128, "data", None, (12,))}
    return trained(loss, params, on.integers((8, 64), "data"))


@timed_step
def accumulation_over_microbatches() -> TimedStep:
    on = Shards(data=8)
    weights = {"up": on.floats((512, 2048), "data"), "down": on.floats((2048, 512), None, "data")}

    def step(params: Any, batches: Array) -> Any:
        def body(total: Any, x: Array) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, jax.grad(_perceptron)(params, x)), None

        total, _ = lax.scan(body, jax.tree.map(jnp.zeros_like, params), batches)
        return jax.tree.map(lambda w, g: w - 0.01 * g, params, total)

    return TimedStep(step, (weights, on.floats((4, 512, 512), None, "data")))


@timed_step
def mixture_of_experts() -> TimedStep:
    on = Shards(data=4, expert=2)
    capacity, experts = 96, 8

    def loss(params: Any, x: Array) -> Array:
        gates = jax.nn.softmax(jnp.einsum("gsd,de->gse", x, params["router"]))
        best, chosen = lax.top_k(gates, 2)
        mask = jax.nn.one_hot(chosen, experts)  # g s k e
        place = jnp.cumsum(mask.reshape(x.shape[0], -1, experts), 1).reshape(mask.shape) * mask - 1
        slots = jax.nn.one_hot(place.astype(jnp.int32), capacity) * mask[..., None]
        dispatch = slots.sum(2)
        combine = (slots * best[..., None, None]).sum(2)
        inputs = jnp.einsum("gsec,gsd->egcd", dispatch, x)
        hidden = jax.nn.gelu(jnp.einsum("egcd,edf->egcf", inputs, params["up"]))
        outputs = jnp.einsum("egcf,efd->egcd", hidden, params["down"])
        return jnp.mean((jnp.einsum("gsec,egcd->gsd", combine, outputs) - x) ** 2)

    params = {
        "router": on.floats((256, experts)),
        "up": on.floats((experts, 256, 512), "expert", "data"),
        "down": on.floats((experts, 512, 256), "expert", None, "data"),
    }
    return trained(loss, params, on.floats((8, 256, 256), ("data", "expert")))


@timed_step
def convolutions_over_rows() -> TimedStep:
    on = Shards(data=4, rows=2)

    def loss(params: Any, images: Array) -> Array:
        for kernel in params:
            images = jax.nn.relu(
                lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            )
        return jnp.mean(images**2)

    return trained(loss, [on.floats((3, 3, 16, 16))] * 4, on.floats((8, 64, 64, 16), "data", "rows"))


@timed_step
def fft_of_two_dims() -> TimedStep:
    on = Shards(x=8)
    return TimedStep(lambda x: jnp.abs(jnp.fft.fft2(x)), (on.floats((1024, 1024), "x"),))


def _laplacian(field: Array) -> Array:
    return sum(jnp.roll(field, shift, dim) for shift in (1, -1) for dim in (0, 1)) - 4 * field


@timed_step
def stencil_by_rolls() -> TimedStep:
    on = Shards(x=4, y=2)
    return TimedStep(
        lambda field: lax.fori_loop(0, 20, lambda _, u: u + 0.1 * _laplacian(u), field),
        (on.floats((2048, 2048), "x", "y"),),
    )


@timed_step
def reaction_of_padded_fields() -> TimedStep:
    on = Shards(x=4, y=2)

    def change(field: Array) -> Array:
        wide = jnp.pad(field, 1, mode="wrap")
        return wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:] - 4 * field

    def react(_: Any, fields: tuple[Array, Array]) -> tuple[Array, Array]:
        u, v = fields
        product = u * v * v
        return u + 0.16 * change(u) - product + 0.04 * (1 - u), v + 0.08 * change(v) + product - 0.1 * v

    def run(u: Array, v: Array) -> tuple[Array, Array]:
        return lax.fori_loop(0, 20, react, (u, v))

    return TimedStep(run, (on.floats((1024, 1024), "x", "y"),) * 2)


@timed_step
def decoding_with_a_cache() -> TimedStep:
    on = Shards(data=4, model=2)
    cache = on.floats((16, 1024, 8, 64), "data", None, "model")

    def decode(params: Any, keys: Array, values: Array, x: Array) -> Any:
        def step(carry: Any, position: Array) -> Any:
            keys, values, x = carry
            q, k, v = (jnp.einsum("bd,dhc->bhc", x, params[name]) for name in ("query", "key", "value"))
            keys = lax.dynamic_update_slice_in_dim(keys, k[:, None], position, 1)
            values = lax.dynamic_update_slice_in_dim(values, v[:, None], position, 1)
            scores = jnp.einsum("bhc,bthc->bht", q, keys)
            scores = jnp.where(jnp.arange(keys.shape[1]) <= position, scores, -1e9)
            mixed = jnp.einsum("bht,bthc->bhc", jax.nn.softmax(scores), values)
            return (keys, values, x + jnp.einsum("bhc,hcd->bd", mixed, params["out"])), None

        return lax.scan(step, (keys, values, x), 512 + jnp.arange(8))[0]

    params = {name: on.floats((512, 8, 64), None, "model") for name in ("query", "key", "value")}
    params["out"] = on.floats((8, 64, 512), "model")
    return TimedStep(decode, (params, cache, cache, on.floats((16, 512), "data")))


@timed_step
def attention_gradient_over_sequence() -> TimedStep:
    on = Shards(s=8)

    def loss(q: Array, k: Array, v: Array) -> Array:
        weights = jax.nn.softmax(jnp.einsum("bshd,bthd->bhst", q, k))
        return jnp.mean(jnp.einsum("bhst,bthd->bshd", weights, v) ** 2)

    return TimedStep(jax.grad(loss, (0, 1, 2)), (on.floats((2, 1024, 4, 64), None, "s"),) * 3)


@timed_step
def causal_convolutions_over_sequence() -> TimedStep:
    on = Shards(data=2, s=4)

    def loss(params: Any, x: Array) -> Array:
        for taps, mix in params:
            padded = jnp.pad(x, ((0, 0), (3, 0), (0, 0)))
            shifted = sum(padded[:, i : i + x.shape[1]] * taps[i] for i in range(4))
            x = x + jax.nn.silu(shifted) @ mix
        return jnp.mean(x**2)

    params = [(on.floats((4, 256)), on.floats((256, 256))) for _ in range(4)]
    return trained(loss, params, on.floats((4, 1024, 256), "data", "s"))


@timed_step
def lstm_fsdp() -> TimedStep:
    on = Shards(data=8)

    def loss(params: Any, x: Array) -> Array:
        def cell(carry: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
            h, c = carry
            i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ params, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros((x.shape[1], 256))
        return jnp.mean(lax.scan(cell, (start, start), x)[1] ** 2)

    return trained(loss, on.floats((512, 1024), None, "data"), on.floats((32, 256, 256), None, "data"))


@timed_step
def layer_norm_over_features() -> TimedStep:
    on = Shards(data=2, model=4)

    def loss(params: Any, x: Array) -> Array:
        for scale, weight in params:
            centered = x - x.mean(-1, keepdims=True)
            x = x + jnp.tanh(centered * lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * scale @ weight)
        return jnp.mean(x**2)

    params = [(on.floats((1024,), "model"), on.floats((1024, 1024), None, "model"))] * 3
    return trained(loss, params, on.floats((1024, 1024), "data", "model"))
