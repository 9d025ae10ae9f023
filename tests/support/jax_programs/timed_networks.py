"""Training steps of other networks, to be timed: convolutions, norms, recurrences, embeddings, graphs."""
# The edge to JAX, whose array functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from support.jax_programs.timed_step import Shapes, Shards, TimedStep, timed_step, trained


def _convolved(x: Array, kernel: Array, stride: int = 1) -> Array:
    return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@timed_step
def convolutions_and_products() -> TimedStep:
    on = Shards(data=4, model=2)

    def loss(params: Any, images: Array, labels: Array) -> Array:
        x = jax.nn.relu(_convolved(images, params["first"], 2))
        x = jax.nn.relu(_convolved(x, params["second"], 2))
        x = jax.nn.relu(x.reshape(x.shape[0], -1) @ params["dense"])
        chosen = jnp.take_along_axis(jax.nn.log_softmax(x @ params["out"]), labels[:, None], -1)
        return -chosen.mean()

    params = {
        "first": on.floats((3, 3, 8, 32), None, None, None, "model"),
        "second": on.floats((3, 3, 32, 32), None, None, "model"),
        "dense": on.floats((8 * 8 * 32, 512), None, "model"),
        "out": on.floats((512, 256), "model"),
    }
    return trained(loss, params, on.floats((64, 32, 32, 8), "data"), on.integers((64,), "data"))


@timed_step
def residual_blocks_with_batch_norm() -> TimedStep:
    on = Shards(data=8)

    def loss(params: Any, x: Array) -> Array:
        for first, second, gain in params:
            hidden = _convolved(x, first)
            mean, variance = hidden.mean((0, 1, 2)), hidden.var((0, 1, 2))
            hidden = jax.nn.relu((hidden - mean) * lax.rsqrt(variance + 1e-5) * gain)
            x = x + _convolved(hidden, second)
        return jnp.mean(x**2)

    params = [(on.floats((3, 3, 16, 16)), on.floats((3, 3, 16, 16)), on.floats((16,)))] * 3
    return trained(loss, params, on.floats((16, 32, 32, 16), "data"))


@timed_step
def convolutions_down_and_up() -> TimedStep:
    on = Shards(data=4, rows=2)

    def loss(params: Any, images: Array) -> Array:
        small = jax.nn.silu(_convolved(images, params["down"], 2))
        small = jax.nn.silu(_convolved(small, params["middle"]))
        wide = jnp.repeat(jnp.repeat(small, 2, 1), 2, 2)
        return jnp.mean((_convolved(jnp.concatenate([images, wide], -1), params["up"]) - images) ** 2)

    params = {
        "down": on.floats((3, 3, 16, 32)),
        "middle": on.floats((3, 3, 32, 32)),
        "up": on.floats((3, 3, 48, 16)),
    }
    return trained(loss, params, on.floats((8, 64, 64, 16), "data", "rows"))


@timed_step
def dropout_data_parallel() -> TimedStep:
    on = Shards(data=8)

    def loss(params: Any, x: Array) -> Array:
        for number, weight in enumerate(params):
            kept = jax.random.bernoulli(jax.random.key(number), 0.9, x.shape)
            x = jnp.where(kept, jnp.tanh(x @ weight), 0) / 0.9
        return jnp.mean(x**2)

    return trained(loss, [on.floats((512, 512))] * 3, on.floats((1024, 512), "data"))


@timed_step
def image_patches_fsdp() -> TimedStep:
    on = Shards(data=8)

    def loss(params: Any, images: Array) -> Array:
        batch, height, width, channels = images.shape
        patches = images.reshape(batch, height // 8, 8, width // 8, 8, channels).swapaxes(2, 3)
        x = patches.reshape(batch, -1, 64 * channels) @ params["patches"] + params["positions"]
        for q, k, v, up, down in params["layers"]:
            scores = jnp.einsum("bsd,btd->bst", x @ q, x @ k) / 16
            x = x + jax.nn.softmax(scores) @ (x @ v)
            x = x + jax.nn.gelu(x @ up) @ down
        return jnp.mean(x.mean(1) ** 2)

    square = on.floats((256, 256), "data")
    layer = (square, square, square, on.floats((256, 1024), "data"), on.floats((1024, 256), "data"))
    params = {"patches": on.floats((192, 256), "data"), "positions": on.floats((64, 256)), "layers": [layer] * 3}
    return trained(loss, params, on.floats((16, 64, 64, 3), "data"))


@timed_step
def recurrence_data_parallel() -> TimedStep:
    on = Shards(data=8)

    def loss(params: Any, x: Array) -> Array:
        def cell(h: Array, x: Array) -> tuple[Array, None]:
            update, reset = jnp.split(jax.nn.sigmoid(x @ params["gates_in"] + h @ params["gates"]), 2, -1)
            return (1 - update) * h + update * jnp.tanh(x @ params["in"] + (reset * h) @ params["own"]), None

        return jnp.mean(lax.scan(cell, jnp.zeros(x.shape[1:]), x)[0] ** 2)

    square, wide = on.floats((256, 256)), on.floats((256, 512))
    params = {"gates_in": wide, "gates": wide, "in": square, "own": square}
    return trained(loss, params, on.floats((16, 512, 256), None, "data"))


@timed_step
def state_space_fsdp() -> TimedStep:
    on = Shards(data=8)

    def loss(params: Any, x: Array) -> Array:
        for decay, into, out in params:
            kept = jnp.broadcast_to(jax.nn.sigmoid(decay), (*x.shape[:2], decay.shape[0]))
            _, states = lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (kept, x @ into), axis=1)
            x = x + jax.nn.silu(states) @ out
        return jnp.mean(x**2)

    layer = on.floats((256,)), on.floats((128, 256), None, "data"), on.floats((256, 128), "data")
    return trained(loss, [layer] * 2, on.floats((8, 256, 128), "data"))


@timed_step
def embeddings_of_sharded_tables() -> TimedStep:
    on = Shards(data=2, table=4)

    def loss(params: Any, ids: Array, labels: Array) -> Array:
        x = params["table"][ids].sum(1)
        x = jax.nn.relu(x @ params["up"]) @ params["down"]
        return jnp.mean((x[:, 0] - labels) ** 2)

    params = {
        "table": on.floats((65536, 64), "table"),
        "up": on.floats((64, 1024), None, "table"),
        "down": on.floats((1024, 1), "table"),
    }
    return trained(loss, params, on.integers((2048, 16), "data"), on.floats((2048,), "data"))


@timed_step
def contrastive_pairs() -> TimedStep:
    on = Shards(data=8)

    def loss(params: Any, one: Array, other: Array) -> Array:
        one, other = (jnp.tanh(x @ up) @ down for x, (up, down) in zip((one, other), params, strict=True))
        one, other = (x * lax.rsqrt((x**2).sum(-1, keepdims=True) + 1e-6) for x in (one, other))
        scores = one @ other.T * 10
        return -(jnp.diagonal(jax.nn.log_softmax(scores)) + jnp.diagonal(jax.nn.log_softmax(scores, 0))).mean()

    tower = on.floats((256, 1024), None, "data"), on.floats((1024, 128), "data")
    return trained(loss, (tower, tower), *(on.floats((2048, 256), "data"),) * 2)


@timed_step
def messages_of_sharded_edges() -> TimedStep:
    on = Shards(data=8)

    def loss(params: Any, nodes: Array, source: Array, target: Array) -> Array:
        for weight, own in params:
            messages = jax.nn.relu(nodes[source] @ weight)
            nodes = nodes @ own + jax.ops.segment_sum(messages, target, nodes.shape[0])
        return jnp.mean(nodes**2)

    square, edges = on.floats((128, 128)), on.integers((16384,), "data")
    return trained(loss, [(square, square)] * 2, on.floats((2048, 128)), edges, edges)


@timed_step
def remat_over_microbatches_fsdp() -> TimedStep:
    on = Shards(data=8)

    def loss(params: Any, x: Array) -> Array:
        def layer(x: Array, weights: tuple[Array, Array]) -> tuple[Array, None]:
            return x + jax.nn.gelu(x @ weights[0]) @ weights[1], None

        return jnp.mean(lax.scan(jax.checkpoint(layer), x, params)[0] ** 2)

    def step(params: Any, batches: Array) -> Any:
        def body(total: Any, x: Array) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, jax.grad(loss)(params, x)), None

        total, _ = lax.scan(body, jax.tree.map(jnp.zeros_like, params), batches)
        return jax.tree.map(lambda w, g: w - 0.01 * g, params, total)

    weights: Shapes = on.floats((4, 256, 1024), None, "data"), on.floats((4, 1024, 256), None, None, "data")
    return TimedStep(step, (weights, on.floats((4, 256, 256), None, "data")))
