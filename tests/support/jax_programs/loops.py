"""Programs whose work is done in loops, each on one or two axes of 8 devices: a function per kind, and its layouts.

Kinds: accumulation over microbatches, scans over layers with and without rematerialization, optimizer states sharded
in the three stages of ZeRO, nested scans, decoding, ring attention and pipelines in `shard_map`, recurrent cells,
iterations of linear algebra, clustering and stencils.
"""
# The edge to JAX, whose array functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import sdy

LENGTH = 8  # trips of a loop, unless a program says otherwise


def shape(mesh: AbstractMesh, sizes: tuple[int, ...], *spec: Any, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, dtype, sharding=NamedSharding(mesh, P(*spec)))


def mesh_of(**axes: int) -> AbstractMesh:
    return AbstractMesh(tuple(axes.values()), tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def _loss(params: tuple[Array, Array], x: Array) -> Array:
    return jnp.mean((jnp.tanh(x @ params[0]) @ params[1] - x) ** 2)


def accumulated(params: Any, batches: Array) -> Any:
    """Sum the gradients of microbatches, and change the weights once."""

    def add(total: Any, batch: Array) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, jax.grad(_loss)(params, batch)), None

    total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, params), batches)
    return jax.tree.map(lambda weight, gradient: weight - 1e-3 * gradient, params, total)


def trained(params: Any, moments: Any, batches: Array) -> Any:
    """Train with momentum, a step per batch."""

    def step(state: Any, batch: Array) -> tuple[Any, Array]:
        weights, moments = state
        loss, gradient = jax.value_and_grad(_loss)(weights, batch)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, gradient)
        return (jax.tree.map(lambda w, m: w - 1e-3 * m, weights, moments), moments), loss

    return lax.scan(step, (params, moments), batches)


def _layer(x: Array, weights: tuple[Array, Array]) -> Array:
    return x + jnp.tanh(x @ weights[0]) @ weights[1]


def layers(stack: Any, x: Array, *, remat: bool = False) -> Array:
    """Scan over layers."""
    body = jax.checkpoint(_layer) if remat else _layer
    return lax.scan(lambda x, weights: (body(x, weights), None), x, stack)[0]


def trained_layers(stack: Any, x: Array, *, remat: bool = False) -> Any:
    """Take a gradient step through a scan over layers."""
    gradient = jax.grad(lambda stack: jnp.mean(layers(stack, x, remat=remat) ** 2))(stack)
    return jax.tree.map(lambda weight, change: weight - 1e-3 * change, stack, gradient)


def accumulated_layers(stack: Any, batches: Array) -> Any:
    """Accumulate gradients of a scan over layers: a loop in a loop."""

    def add(total: Any, batch: Array) -> tuple[Any, None]:
        gradient = jax.grad(lambda stack: jnp.mean(layers(stack, batch, remat=True) ** 2))(stack)
        return jax.tree.map(jnp.add, total, gradient), None

    return lax.scan(add, jax.tree.map(jnp.zeros_like, stack), batches)[0]


def decoded(weights: tuple[Array, Array, Array], cache: Array, x: Array) -> Any:
    """Generate positions one by one, which attend to a cache of keys."""
    query, key, out = weights

    def step(position: Array, state: Any) -> Any:
        cache, x = state
        new = jnp.einsum("bd,dhk->bhk", x, key)
        cache = lax.dynamic_update_slice(cache, new[:, None], (0, position, 0, 0))
        scores = jnp.einsum("bhk,bthk->bht", jnp.einsum("bd,dhk->bhk", x, query), cache)
        return cache, jnp.tanh(jnp.einsum("bhk,hkd->bd", jnp.einsum("bht,bthk->bhk", scores, cache), out))

    return lax.fori_loop(0, LENGTH, step, (cache, x))


def recurrent(weights: tuple[Array, Array], inputs: Array) -> Array:
    """Run a recurrent cell over time."""
    into, back = weights
    start = jnp.zeros((inputs.shape[1], back.shape[0]))
    return lax.scan(lambda state, x: (jnp.tanh(x @ into + state @ back), None), start, inputs)[0]


def trained_recurrent(weights: Any, inputs: Array) -> Any:
    return jax.grad(lambda weights: jnp.sum(recurrent(weights, inputs) ** 2))(weights)


def power_iteration(matrix: Array, vector: Array) -> Array:
    """Multiply a vector by a matrix until the loop ends, and keep its length."""

    def step(_: Array, vector: Array) -> Array:
        image = matrix @ vector
        return image / jnp.sqrt(jnp.sum(image * image))

    return lax.fori_loop(0, LENGTH, step, vector)


def conjugate_gradients(matrix: Array, target: Array) -> Array:
    def step(_: Array, state: Any) -> Any:
        x, residual, direction, square = state
        image = matrix @ direction
        rate = square / jnp.vdot(direction, image)
        x, residual = x + rate * direction, residual - rate * image
        new = jnp.vdot(residual, residual)
        return x, residual, residual + new / square * direction, new

    start = jnp.zeros_like(target), target, target, jnp.vdot(target, target)
    return lax.fori_loop(0, LENGTH, step, start)[0]


def clusters(points: Array, centers: Array) -> Array:
    """Move centers to the means of their points."""

    def step(_: Array, centers: Array) -> Array:
        distance = jnp.sum(points**2, -1)[:, None] - 2 * points @ centers.T + jnp.sum(centers**2, -1)
        chosen = jax.nn.one_hot(jnp.argmin(distance, -1), centers.shape[0])
        return chosen.T @ points / (1 + jnp.sum(chosen, 0)[:, None])

    return lax.fori_loop(0, LENGTH, step, centers)


def regression(features: Array, targets: Array, weight: Array) -> Array:
    """Descend along the gradient of all examples until it is small."""

    def step(state: Any) -> Any:
        weight, _ = state
        gradient = features.T @ (features @ weight - targets)
        return weight - 1e-3 * gradient, jnp.max(jnp.abs(gradient))

    return lax.while_loop(lambda state: state[1] > 1e-3, step, (weight, jnp.float32(1)))[0]


def diffused(field: Array) -> Array:
    """Average each cell of a periodic field with its neighbours along both dims."""

    def step(_: Array, field: Array) -> Array:
        around = sum(jnp.roll(field, by, dim) for by in (1, -1) for dim in (0, 1))
        return 0.6 * field + 0.1 * around

    return lax.fori_loop(0, LENGTH, step, field)


def ring_attention(mesh: AbstractMesh, queries: Array, keys: Array) -> Array:
    """Pass the keys around a ring of devices in a `shard_map`."""
    count = mesh.shape["x"]
    ring = [(device, (device + 1) % count) for device in range(count)]

    def body(queries: Array, keys: Array) -> Array:
        def step(_: Array, state: Any) -> Any:
            total, keys = state
            return total + jnp.tanh(queries @ keys.T) @ keys, lax.ppermute(keys, "x", ring)

        return lax.fori_loop(0, count, step, (jnp.zeros_like(queries), keys))[0]

    return jax.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(queries, keys)


def pipeline(mesh: AbstractMesh, weights: Array, batches: Array) -> Array:
    """Run a stage on each device of a `shard_map`; what it computes goes to the next one."""
    count = mesh.shape["x"]
    forward = [(device, device + 1) for device in range(count - 1)]

    def body(weights: Array, batches: Array) -> Array:
        stage = lax.axis_index("x")

        def step(here: Array, batch: Array) -> tuple[Array, Array]:
            x = jnp.tanh(jnp.where(stage == 0, batch, here) @ weights[0])
            return lax.ppermute(x, "x", forward), x

        return lax.scan(step, jnp.zeros_like(batches[0]), batches)[1][None]

    return jax.shard_map(body, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"), check_vma=False)(weights, batches)


def _training() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    line, grid = mesh_of(x=8), mesh_of(x=4, y=2)
    weights = {
        "replicated": (line, (), ()),
        "rows": (line, ("x", None), ("x", None)),
        "columns": (line, (None, "x"), ("x", None)),
        "tensor": (grid, (None, "y"), ("y", None)),
        "fsdp and tensor": (grid, ("x", "y"), ("y", "x")),
    }
    for name, (mesh, up, down) in weights.items():
        params = shape(mesh, (256, 512), *up), shape(mesh, (512, 256), *down)
        stack = shape(mesh, (LENGTH, 256, 512), None, *up), shape(mesh, (LENGTH, 512, 256), None, *down)
        batches, x = shape(mesh, (LENGTH, 64, 256), None, "x"), shape(mesh, (64, 256), "x")
        yield f"accumulation, {name}", accumulated, (params, batches)
        yield f"training, {name}", trained, (params, params, batches)
        yield f"layers, {name}", layers, (stack, x)
        yield f"layers and gradient, {name}", trained_layers, (stack, x)
        yield f"layers and remat, {name}", partial(trained_layers, remat=True), (stack, x)
        yield f"layers in accumulation, {name}", accumulated_layers, (stack, batches)
    whole = shape(line, (256, 512)), shape(line, (512, 256))
    moments = shape(line, (256, 512), "x"), shape(line, (512, 256), "x")
    yield "training, moments in shards", trained, (whole, moments, shape(line, (LENGTH, 64, 256), None, "x"))


def _decoding() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    line, grid = mesh_of(x=8), mesh_of(x=4, y=2)
    for name, mesh, batch, position, heads in (
        ("batch", line, "x", None, None),
        ("positions", line, None, "x", None),
        ("heads", line, None, None, "x"),
        ("batch and heads", grid, "x", None, "y"),
        ("batch and positions", grid, "x", "y", None),
    ):
        into, out = shape(mesh, (128, 8, 16), None, heads), shape(mesh, (8, 16, 128), heads)
        cache = shape(mesh, (16, 128, 8, 16), batch, position, heads)
        yield f"decoding, {name}", decoded, ((into, into, out), cache, shape(mesh, (16, 128), batch))
    for name, mesh, batch, rows, columns in (
        ("batch", line, "x", None, None),
        ("columns", line, None, None, "x"),
        ("batch and rows", line, "x", "x", None),
        ("batch and columns", grid, "x", None, "y"),
    ):
        cell = shape(mesh, (128, 256), None, columns), shape(mesh, (256, 256), rows, columns)
        inputs = shape(mesh, (LENGTH, 64, 128), None, batch)
        yield f"recurrent cell, {name}", recurrent, (cell, inputs)
        yield f"recurrent cell and gradient, {name}", trained_recurrent, (cell, inputs)


def _numerical() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    line, grid = mesh_of(x=8), mesh_of(x=4, y=2)
    for name, mesh, rows, columns in (
        ("rows", line, "x", None),
        ("columns", line, None, "x"),
        ("both", grid, "x", "y"),
    ):
        matrix = shape(mesh, (512, 512), rows, columns)
        yield f"power iteration, {name}", power_iteration, (matrix, shape(mesh, (512,), rows))
        yield f"conjugate gradients, {name}", conjugate_gradients, (matrix, shape(mesh, (512,), rows))
        features = shape(mesh, (512, 256), rows, columns)
        yield f"regression, {name}", regression, (features, shape(mesh, (512,), rows), shape(mesh, (256,), columns))
        yield f"clusters, {name}", clusters, (features, shape(mesh, (16, 256), None, columns))
        yield f"stencil, {name}", diffused, (shape(mesh, (512, 512), rows, columns),)
    yield "ring attention", partial(ring_attention, line), (shape(line, (64, 16), "x"), shape(line, (64, 16), "x"))
    yield "pipeline", partial(pipeline, line), (shape(line, (8, 16, 16), "x"), shape(line, (LENGTH, 4, 16)))


LOOPS = {name: (function, arguments) for name, function, arguments in (*_training(), *_decoding(), *_numerical())}


def loop_program(name: str) -> sdy.Program[Any]:
    function, arguments = LOOPS[name]
    return sdy.from_jax(function, *arguments)
