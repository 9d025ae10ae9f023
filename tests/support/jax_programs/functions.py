"""JAX functions that use many transformations, with arguments on the eight devices of a 4x2 mesh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

AnyFunction = Callable[..., object]


@dataclass(frozen=True)
class JaxCase:
    """A function and the arguments to call it with."""

    function: AnyFunction
    arguments: tuple[object, ...]


@cache
def mesh() -> jax.sharding.Mesh:
    return jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto, AxisType.Auto))


def sharding(*entries: str | tuple[str, ...] | None) -> NamedSharding:
    return NamedSharding(mesh(), PartitionSpec(*entries))


def array(shape: tuple[int, ...], *entries: str | tuple[str, ...] | None, seed: int = 0) -> jax.Array:
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return cast(jax.Array, jax.device_put(values, sharding(*entries)))


def layer(w: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ w)


def loss(w: jax.Array, x: jax.Array) -> jax.Array:
    return (layer(w, x) ** 2).sum()


def rematerialized(w: jax.Array, x: jax.Array) -> jax.Array:
    return cast(jax.Array, jax.checkpoint(layer)(w, x)).sum()


def scanned(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    def step(carry: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        return carry + row, carry * row

    return lax.scan(step, jnp.zeros(8), x)


@jax.custom_vjp
def clipped(x: jax.Array) -> jax.Array:
    return jnp.sin(x)


def _clipped_forward(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jnp.sin(x), x


def _clipped_backward(x: jax.Array, cotangent: jax.Array) -> tuple[jax.Array]:
    return (jnp.clip(cotangent * jnp.cos(x), -0.5, 0.5),)


clipped.defvjp(_clipped_forward, _clipped_backward)


def clipped_sum(x: jax.Array) -> jax.Array:
    return cast(jax.Array, clipped(x)).sum()


def summed_rows(x: jax.Array) -> jax.Array:
    return cast(jax.Array, lax.psum(jnp.sin(x), "x"))


def share(x: jax.Array) -> jax.Array:
    return x / cast(jax.Array, lax.psum(x, "i"))


def keyed(key: jax.Array, x: jax.Array) -> dict[str, jax.Array]:
    return {"keys": jax.random.split(key, 4), "noisy": x + jax.random.normal(jax.random.fold_in(key, 1), x.shape)}


def drawn(keys: jax.Array) -> jax.Array:
    def draw(key: jax.Array) -> jax.Array:
        return jax.random.uniform(key, (4,))

    return jax.vmap(draw)(keys)


def moved(x: jax.Array) -> jax.Array:
    return cast(jax.Array, lax.with_sharding_constraint(x * 2, sharding("y", "x")))


def cases() -> dict[str, JaxCase]:
    """Return new cases by name. They are not shared because arrays may be donated."""
    w, x = array((8, 16), None, "y"), array((8, 8), "x", seed=1)
    rows, columns = PartitionSpec("x"), PartitionSpec(None, "y")
    positive = np.abs(np.random.default_rng(2).standard_normal((8, 4)).astype(np.float32)) + 1
    full = jax.shard_map(summed_rows, mesh=mesh(), in_specs=PartitionSpec("x", "y"), out_specs=columns)
    partial = jax.shard_map(summed_rows, mesh=mesh(), in_specs=rows, out_specs=PartitionSpec(), axis_names={"x"})
    return {
        "jit": JaxCase(jax.jit(layer), (w, x)),
        "plain function": JaxCase(layer, (w, x)),
        "grad": JaxCase(jax.jit(jax.value_and_grad(loss)), (w, x)),
        "vmap": JaxCase(cast(AnyFunction, jax.vmap(layer, in_axes=(None, 0))), (w, x)),
        "scan": JaxCase(scanned, (x,)),
        "remat": JaxCase(cast(AnyFunction, jax.grad(rematerialized)), (w, x)),
        "shard_map": JaxCase(full, (x,)),
        "partial shard_map": JaxCase(partial, (x,)),
        "pmap": JaxCase(jax.pmap(share, axis_name="i"), (positive,)),
        "pmap of fewer rows": JaxCase(jax.pmap(share, axis_name="i"), (positive[:6],)),
        "pmap of other devices": JaxCase(jax.pmap(share, axis_name="i", devices=jax.devices()[3:5]), (positive[:2],)),
        "keys": JaxCase(keyed, (jax.random.key(0), x)),
        "array of keys": JaxCase(drawn, (jax.random.split(jax.random.key(0), 8),)),
        "custom_vjp": JaxCase(cast(AnyFunction, jax.grad(clipped_sum)), (x,)),
        "constraint": JaxCase(moved, (x,)),
    }
