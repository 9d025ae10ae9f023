"""Random training steps whose optimizers and normalizations amplify rounding errors, with random shardings."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from support.jax_programs.functions import JaxCase, mesh

Tree = Any
Optimizer = Callable[[jax.Array, jax.Array, jax.Array, jax.Array], tuple[jax.Array, jax.Array, jax.Array]]
Normalization = Callable[[jax.Array], jax.Array]

BATCH, WIDTH, HIDDEN = 16, 8, 24


def adam(
    epsilon: float, value: jax.Array, mean: jax.Array, square: jax.Array, gradient: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient**2
    update = (mean / 0.1) / (jnp.sqrt(square / 0.001) + epsilon)
    return value - 0.01 * update, mean, square


def adafactor(
    value: jax.Array, mean: jax.Array, square: jax.Array, gradient: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Adafactor with the second moment factored into rows and columns, and updates clipped by their size."""
    squares = gradient**2 + 1e-30
    rows, columns = squares.mean(-1, keepdims=True), squares.mean(0, keepdims=True)
    square = 0.99 * square + 0.01 * rows * columns / rows.mean()
    update = gradient / jnp.sqrt(square)
    update = update / jnp.maximum(1.0, jnp.sqrt((update**2).mean()))
    mean = 0.9 * mean + 0.1 * update
    return value - 0.01 * mean, mean, square


def sign_momentum(
    value: jax.Array, mean: jax.Array, square: jax.Array, gradient: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Lion: only the sign of the momentum counts."""
    return value - 0.01 * jnp.sign(0.9 * mean + 0.1 * gradient), 0.99 * mean + 0.01 * gradient, square


def normalized_by_layer(x: jax.Array) -> jax.Array:
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-12)


def normalized_by_size(x: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-12)


def normalized_by_batch(x: jax.Array) -> jax.Array:
    return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-12)


OPTIMIZERS: dict[str, Optimizer] = {
    "Adam": partial(adam, 1e-8),
    "Adam without epsilon": partial(adam, 1e-30),
    "Adafactor": adafactor,
    "Lion": sign_momentum,
}
NORMALIZATIONS: Sequence[Normalization] = (normalized_by_layer, normalized_by_size, normalized_by_batch)


def train_step(seed: int, *, is_determined: bool = False) -> JaxCase:
    """Return a training step of two layers: gradients, and one update of the parameters and the optimizer's state.

    Rounding alone decides some results of most steps. With `is_determined`, it decides none.
    """
    choice = random.Random(seed)
    optimizer = OPTIMIZERS["Adam" if is_determined else choice.choice(list(OPTIMIZERS))]
    normalization = choice.choice(NORMALIZATIONS)
    shift = choice.choice((0.0, 1.0, 100.0))  # large means cancel
    dtype = choice.choice((jnp.float32, jnp.float32, jnp.bfloat16))

    def loss(params: Tree, x: jax.Array, y: jax.Array) -> jax.Array:
        hidden = jax.nn.relu(normalization(x @ params["up"] + shift))
        out = hidden @ params["down"]
        # The gradient of a bias before a normalization is zero up to rounding.
        out = normalization(out) + params["bias"] if is_determined else normalization(out + params["bias"])
        return ((out - y) ** 2).mean()

    def step(params: Tree, means: Tree, squares: Tree, x: jax.Array, y: jax.Array) -> Tree:
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        updated = {name: optimizer(params[name], means[name], squares[name], gradients[name]) for name in params}
        return value, updated

    numbers = np.random.default_rng(seed)

    def array(*shape: int, scale: float = 1.0) -> jax.Array:
        spec = PartitionSpec(*_random_entries(choice, shape))
        values = jnp.asarray(scale * numbers.standard_normal(shape), dtype)
        return jax.device_put(values, NamedSharding(mesh(), spec))

    shapes = {"up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH), "bias": (1, WIDTH)}
    params = {name: array(*shape) for name, shape in shapes.items()}
    means = {name: array(*shape, scale=0.0) for name, shape in shapes.items()}
    squares = {name: array(*shape, scale=0.0) for name, shape in shapes.items()}
    return JaxCase(step, (params, means, squares, array(BATCH, WIDTH), array(BATCH, WIDTH)))


def _random_entries(choice: random.Random, shape: tuple[int, ...]) -> list[tuple[str, ...] | None]:
    """Return the axes of each dim. Each axis shards one of the dims that it divides, or none."""
    entries: list[tuple[str, ...] | None] = [None] * len(shape)
    for axis in ("x", "y"):
        dim = choice.randrange(len(shape) + 1)
        if dim < len(shape) and shape[dim] > 1:
            entries[dim] = (*(entries[dim] or ()), axis)
    return entries
