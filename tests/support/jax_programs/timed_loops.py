"""Loops of numerical programs on sharded fields, matrices and points, to be timed."""
# The edge to JAX, whose array functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from support.jax_programs.timed_step import Shards, TimedStep, timed_step


@timed_step
def heat_in_three_dims() -> TimedStep:
    on = Shards(x=2, y=2, z=2)

    def step(_: int, u: Array) -> Array:
        wide = jnp.pad(u, 1)
        inner = wide[1:-1, 1:-1, 1:-1]
        around = wide[:-2, 1:-1, 1:-1] + wide[2:, 1:-1, 1:-1] + wide[1:-1, :-2, 1:-1] + wide[1:-1, 2:, 1:-1]
        return inner + 0.1 * (around + wide[1:-1, 1:-1, :-2] + wide[1:-1, 1:-1, 2:] - 6 * inner)

    field = on.floats((128, 128, 128), "x", "y", "z")
    return TimedStep(lambda u: lax.fori_loop(0, 10, step, u), (field,))


@timed_step
def waves_by_convolutions() -> TimedStep:
    on = Shards(x=8)

    def step(_: int, fields: tuple[Array, Array]) -> tuple[Array, Array]:
        now, before = fields
        kernel = jnp.array([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]])[..., None, None]
        change = lax.conv_general_dilated(
            now[None, ..., None], kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return 2 * now - before + 0.1 * change[0, ..., 0], now

    field = on.floats((1024, 1024), "x")
    return TimedStep(lambda u, v: lax.fori_loop(0, 10, step, (u, v)), (field, field))


@timed_step
def conjugate_gradients() -> TimedStep:
    on = Shards(x=8)

    def solve(matrix: Array, b: Array) -> Array:
        def step(_: int, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            x, residual, direction = state
            image = matrix @ direction + 100 * direction
            length = residual @ residual
            size = length / (direction @ image)
            x, after = x + size * direction, residual - size * image
            return x, after, after + after @ after / length * direction

        return lax.fori_loop(0, 20, step, (jnp.zeros_like(b), b, b))[0]

    return TimedStep(solve, (on.floats((2048, 2048), "x"), on.floats((2048,))))


@timed_step
def orthogonal_updates() -> TimedStep:
    on = Shards(data=4, model=2)

    def orthogonal(update: Array) -> Array:
        def step(_: int, x: Array) -> Array:
            gram = x @ x.T
            return 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x

        return lax.fori_loop(0, 5, step, update / jnp.sqrt((update**2).sum()))

    weights = [on.floats((512, 1024), "data", "model")] * 2
    return TimedStep(lambda weights: [orthogonal(weight) for weight in weights], (weights,))


@timed_step
def means_of_clusters() -> TimedStep:
    on = Shards(data=8)

    def fit(points: Array, centers: Array) -> Array:
        def step(_: int, centers: Array) -> Array:
            distances = (centers**2).sum(-1) - 2 * points @ centers.T
            nearest = jax.nn.one_hot(jnp.argmin(distances, -1), centers.shape[0])
            return nearest.T @ points / (nearest.sum(0)[:, None] + 1)

        return lax.fori_loop(0, 10, step, centers)

    return TimedStep(fit, (on.floats((16384, 64), "data"), on.floats((128, 64))))


@timed_step
def forces_of_bodies() -> TimedStep:
    on = Shards(data=8)

    def step(_: int, state: tuple[Array, Array]) -> tuple[Array, Array]:
        places, speeds = state
        ways = places[None] - places[:, None]
        speeds = speeds + 0.01 * (ways / ((ways**2).sum(-1, keepdims=True) + 0.1) ** 1.5).sum(1)
        return places + 0.01 * speeds, speeds

    bodies = on.floats((1024, 3), "data")
    return TimedStep(lambda places, speeds: lax.fori_loop(0, 5, step, (places, speeds)), (bodies, bodies))
