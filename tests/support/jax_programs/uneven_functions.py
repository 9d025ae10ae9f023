"""JAX functions that slice a sharded dim to a size that the axes do not divide, and compute with the slice."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from sdy.interpreter.arrays.element_types import Array
from support.jax_programs.functions import JaxCase, array, sharding

Unary = Callable[[jax.Array], object]
Binary = Callable[[jax.Array, jax.Array], object]


def _sharded(values: Array, *entries: str | None) -> jax.Array:
    return cast(jax.Array, jax.device_put(values, sharding(*entries)))


def _with_odd_values() -> jax.Array:
    values = np.random.default_rng(1).standard_normal((8, 6)).astype(np.float32)
    values[3, 2], values[5, 1], values[6, 1], values[2, 0] = np.nan, np.inf, -np.inf, -0.0
    return _sharded(values, "x", "y")


def _numbers(limit: int, *shape: int) -> jax.Array:
    return _sharded(np.random.default_rng(2).integers(1, limit, shape).astype(np.int32), "x")


def _resharded(values: jax.Array) -> jax.Array:
    return lax.with_sharding_constraint(values, sharding(("x", "y")))


def _reducers() -> dict[str, tuple[Unary, jax.Array]]:
    """Return reductions along the uneven dim and along the other one."""
    odd, numbers = _with_odd_values(), _numbers(5, 8, 6)
    functions: dict[str, tuple[Callable[[jax.Array, int], jax.Array], jax.Array]] = {
        "sum": (lambda a, axis: a.sum(axis), odd),
        "least": (lambda a, axis: a.min(axis), odd),
        "position of the largest": (lambda a, axis: a.argmax(axis), odd),
        "position of the least": (lambda a, axis: a.argmin(axis), odd),
        "any": (lambda a, axis: (a > 0).any(axis), odd),
        "largest integer": (lambda a, axis: a.max(axis), numbers),
        "product": (lambda a, axis: a.prod(axis), numbers),
        "all": (lambda a, axis: (a != 0).all(axis), numbers),
        "sorted": (jnp.sort, numbers),
        "running sum": (lambda a, axis: a.cumsum(axis), numbers),
    }
    return {
        f"{name} along {axis}": (_of_uneven(function, axis), argument)
        for name, (function, argument) in functions.items()
        for axis in (0, 1)
    }


def _of_uneven(function: Callable[[jax.Array, int], jax.Array], axis: int) -> Unary:
    return lambda a: function(a[1:] - 2, axis)


def _loops() -> dict[str, Unary]:
    def turned(count: int, carried: jax.Array) -> jax.Array:
        return jnp.sin(carried) + carried * count

    def is_small(state: tuple[jax.Array, jax.Array]) -> jax.Array:
        return state[0].sum() < 100

    def grown(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return state[0] * 1.5 + 1, state[1] + 1

    def row_by_row(carried: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        return carried + row, carried * row

    def doubled(values: jax.Array) -> jax.Array:
        return values * 2

    called = cast(Callable[[jax.Array], jax.Array], jax.jit(doubled))

    def turned_thrice(values: jax.Array) -> object:
        return cast(jax.Array, lax.fori_loop(0, 3, turned, values[1:])).sum(0)

    return {
        "a loop with an uneven value": turned_thrice,
        "a loop until a sum": lambda b: lax.while_loop(is_small, grown, (b[1:] ** 2, jnp.zeros(()))),
        "rows of an uneven value": lambda b: lax.scan(row_by_row, jnp.zeros(6), b[1:]),
        "columns of an uneven value": lambda b: lax.scan(row_by_row, jnp.zeros(7), b[1:].T),
        "branches": lambda b: cast(jax.Array, lax.cond(b.sum() > 0, doubled, jnp.sin, b[1:])).sum(),
        "calls": lambda b: called(b[1:]).sum() + called(b[:-1]).sum(),
    }


def _moves() -> dict[str, Unary]:
    return {
        "joined": lambda b: jnp.concatenate([b[1:], b[:3] * 2, b[2:]]),
        "joined to an even size": lambda b: jnp.concatenate([b[1:] * 2, b[:1]]),
        "joined along the other dim": lambda b: jnp.concatenate([b[1:], b[:-1]], axis=1),
        "rolled": lambda b: jnp.roll(b, 3, 0) * b,
        "rolled unevenly": lambda b: jnp.roll(b[1:], 2, 0) * b[1:],
        "padded": lambda b: jnp.pad(b[1:], ((2, 3), (0, 0)), constant_values=7.0),
        "padded inside": lambda b: lax.pad(b[1:] + 1, np.float32(3), ((1, 2, 1), (0, 0, 0))),
        "padded by negative amounts": lambda b: lax.pad(b[1:] + 1, np.float32(-np.inf), ((1, -2, 0), (1, 0, 0))).max(0),
        "every second row": lambda b: b[1::2] + b[:-1:2],
        "reversed": lambda b: b[1:][::-1] * 2,
        "flattened": lambda b: b[1:].reshape(-1) * 2,
        "transposed": lambda b: b[1:].T + 1,
        "repeated": lambda b: jnp.broadcast_to(b[1:][:, None, :], (7, 3, 6)) * 2,
        "softmax": lambda b: jax.nn.softmax(b[1:], axis=0),
        "pooled": lambda b: lax.reduce_window(b[1:], -np.inf, lax.max, (3, 1), (2, 1), "SAME"),
        "counted": lambda b: b[1:] * jnp.arange(7.0)[:, None] + np.arange(42, dtype=np.float32).reshape(7, 6),
        "drawn": lambda b: b[1:] + jax.random.uniform(jax.random.key(0), (7, 6)),
    }


def _indexed() -> dict[str, Binary]:
    return {
        "gathered rows": lambda b, k: b[1:][k[1:] % 7],
        "gathered columns": lambda b, k: jnp.take_along_axis(b[1:], k[1:, None] % 6, 1),
        "scattered": lambda b, k: jnp.zeros((9, 6)).at[k[1:]].add(b[1:]),
        "scattered into uneven rows": lambda b, k: b[1:].at[k[1:] % 7].add(b[1:] * 2),
        "scattered into columns": lambda b, k: b[1:].at[:, k[1:3] % 6].set(1.0),
        "sums of segments": lambda b, k: jax.ops.segment_sum(b[1:], k[1:], 8),
        "a slice at an index": lambda b, k: lax.dynamic_slice(b[1:], (k[0], 0), (3, 6)) * 2,
        "full rows at an index": lambda b, k: lax.dynamic_slice(b[1:], (0, k[0]), (7, 2)) * 2,
        "updated rows": lambda b, k: lax.dynamic_update_slice(b[1:], b[:2, :3], (k[0], 0)),
        "updated by uneven rows": lambda b, k: lax.dynamic_update_slice(b, b[1:] * 2, (k[0] * 0, 0)),
        "updated columns": lambda b, k: lax.dynamic_update_slice(b[1:], b[1:, :2] * 2, (0, k[0])),
    }


def _products() -> dict[str, tuple[Unary, jax.Array]]:
    odd, rows, numbers = _with_odd_values(), array((8, 6), "x"), _numbers(9, 8, 6)
    batches, many = array((8, 4, 6), "x", seed=3), array((12, 6), "x", seed=5)

    def resharded(c: jax.Array) -> jax.Array:
        return (_resharded(c[1:] * 2)[2:] * c[:-3]).sum()

    return {
        "a chain": (lambda a: jnp.tanh(a[1:]) * 2 + 1, odd),
        "free rows of a product": (lambda b: b[1:] @ b[:5].T, rows),
        "batches of a product": (lambda t: jnp.einsum("bij,bkj->bik", t[1:], t[:-1]), batches),
        "summed rows of a product": (lambda b: (b[1:] + 1).T @ b[:-1], numbers),
        "a product of NaN": (lambda b: jnp.exp(jnp.log(b[1:] * 0)).T @ b[:-1], rows),
        "both dims": (lambda a: jnp.nan_to_num(a[1:, 1:]) @ jnp.nan_to_num(a[:-1, :-1]).T, odd),
        "divided integers": (lambda i: (i[1:] // i[:-1], i[1:] % i[:-1]), numbers),
        "convolved batches": (lambda t: _convolved(t[1:], jnp.ones((3, 4, 3))), batches),
        "convolved rows": (lambda t: _convolved(t[1:].transpose(1, 2, 0), jnp.ones((3, 6, 3))), batches),
        "convolved by uneven rows": (lambda t: jnp.convolve(t[0], t[1, :5]), array((8, 16), "x", "y", seed=7)),
        "a shard of nothing": (lambda s: (jnp.exp(s[1:]) * 2).sum(0), array((4, 6), "x")),
        "other axes": (resharded, many),
        "a gradient": (jax.grad(resharded), many),
    }


def _convolved(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return lax.conv_general_dilated(images, kernel, (1,), "SAME")


@cache
def uneven_cases() -> dict[str, JaxCase]:
    """Return the functions by a description of what they compute."""
    rows, indices = array((8, 6), "x"), _numbers(8, 8)
    cases = {name: JaxCase(function, (argument,)) for name, (function, argument) in (_products() | _reducers()).items()}
    cases |= {name: JaxCase(function, (rows,)) for name, function in (_loops() | _moves()).items()}
    return cases | {name: JaxCase(function, (rows, indices)) for name, function in _indexed().items()}
