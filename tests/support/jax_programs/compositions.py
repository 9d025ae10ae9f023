# The edge to JAX, whose functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false
"""Random compositions of JAX functions on small arrays with random shardings, also inside, and their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

MESHES = ((("a", 4), ("b", 2)), (("a", 2), ("b", 2), ("c", 2)), (("a", 8),), (("a", 2), ("b", 3)), (("a", 4),))
SIZES = (1, 2, 3, 4, 5, 6, 8, 8, 8, 12, 16)
RECENT = 4  # values that the first operand of a step is one of
LARGEST = 4096  # elements of a product
SHARE_OF_GRADIENTS = 0.35
Step = Callable[["Choices", Any, Any], Any]


class Choices(Random):
    """The choices of one composition on a mesh. Those of a function are made anew, from its seed, in each trace."""

    def __init__(self, seed: int, mesh: AbstractMesh) -> None:
        super().__init__(seed)
        self.mesh = mesh

    def dim(self, value: Any) -> int:
        """Return a dim of a value."""
        return self.randrange(value.ndim)

    def spec(self, shape: Sequence[int]) -> PartitionSpec:
        """Return a sharding that divides the dims of a shape."""
        entries: list[tuple[str, ...]] = [()] * len(shape)
        for axis in self.sample(self.mesh.axis_names, len(self.mesh.axis_names)):
            dim = self.randrange(len(shape))
            names = (*entries[dim], axis)
            if self.random() < 0.5 and shape[dim] % prod(self.mesh.shape[name] for name in names) == 0:
                entries[dim] = names
        return PartitionSpec(*(names or None for names in entries))


def _fitting(choices: Choices, one: Any, other: Any) -> tuple[Any, Any]:
    """Return slices of both that can be broadcast together."""
    for back in range(1, min(one.ndim, other.ndim) + 1):
        size = min(one.shape[-back], other.shape[-back])
        if one.shape[-back] != other.shape[-back] and size > 1:
            one = lax.slice_in_dim(one, 0, size, axis=one.ndim - back)
            other = lax.slice_in_dim(other, other.shape[-back] - size, other.shape[-back], axis=other.ndim - back)
    return one, other


def _elementwise(choices: Choices, x: Any, y: Any) -> Any:
    unary = (jnp.tanh, jnp.sign, jax.nn.relu, lambda v: jnp.where(v > 0, v, -v / 2), lambda v: jnp.clip(v, -1, 1))
    binary = (jnp.add, jnp.multiply, jnp.maximum, lambda a, b: jnp.where(a > b, a, 2 * b))
    found = choices.choice(binary)(*_fitting(choices, x, y)) if choices.random() < 0.5 else choices.choice(unary)(x)
    return jax.nn.softmax(found) if choices.random() < 0.2 else found


def _reduction(choices: Choices, x: Any, y: Any) -> Any:
    kinds = (jnp.sum, jnp.max, jnp.mean, jnp.min, jnp.var, jnp.prod, jnp.argmax, jnp.argmin, jax.nn.logsumexp)
    return choices.choice(kinds)(x, axis=choices.dim(x), keepdims=choices.random() < 0.4)


def _product(choices: Choices, x: Any, y: Any) -> Any:
    dims = choices.dim(x), choices.dim(y)
    size = min(x.shape[dims[0]], y.shape[dims[1]])
    x, y = (lax.slice_in_dim(each, 0, size, axis=dim) for each, dim in zip((x, y), dims, strict=True))
    found = jnp.tensordot(x, y, axes=((dims[0],), (dims[1],)))
    return found if found.size < LARGEST else found.sum(tuple(range(1, found.ndim)))


def _split(x: Any, dim: int) -> Any:
    size = x.shape[dim]
    count = next((each for each in (2, 4, 3, 5) if size % each == 0), 1)
    return x.reshape(*x.shape[:dim], count, size // count, *x.shape[dim + 1 :])


def _movement(choices: Choices, x: Any, y: Any) -> Any:
    dim, other, count = choices.dim(x), choices.dim(x), choices.choice((1, 2, 3))
    size, padding = x.shape[dim], [(count, 1) if each == dim else (0, 0) for each in range(x.ndim)]
    start = jnp.int32(jnp.abs(x.ravel()[0]) * 3)
    moves: tuple[Callable[[], Any], ...] = (
        lambda: x.T,
        x.ravel,
        lambda: _split(x, dim),
        lambda: jnp.flip(x, dim),
        lambda: jnp.roll(x, count, dim),
        lambda: jnp.pad(x, padding, constant_values=0.5),
        lambda: jnp.concatenate([x] * count, dim),
        lambda: jnp.repeat(x, 2, axis=dim),
        lambda: jnp.concatenate([x, jnp.sin(x)], axis=dim),
        lambda: jnp.stack([x, x + 1], axis=other),
        lambda: jnp.swapaxes(x, dim, other),
        lambda: lax.slice_in_dim(x, 0, size, stride=min(count, size), axis=dim),
        lambda: lax.dynamic_slice_in_dim(x, start, max(1, size // 2), axis=dim),
        lambda: jnp.triu(x) if x.ndim > 1 else x,
        lambda: jnp.diagonal(x, axis1=dim, axis2=other) if dim != other else x,
    )
    return choices.choice(moves)()


def _scan(choices: Choices, x: Any, y: Any) -> Any:
    dim, reverse = choices.dim(x), choices.random() < 0.3

    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        carry = jnp.tanh(carry + row)
        return carry, 2 * carry

    scans: tuple[Callable[[], Any], ...] = (
        lambda: lax.cumsum(x, axis=dim, reverse=reverse),
        lambda: lax.cummax(x, axis=dim, reverse=reverse),
        lambda: lax.cumprod(jnp.tanh(x) + 1, axis=dim, reverse=reverse),
        lambda: lax.associative_scan(jnp.add, x, axis=dim, reverse=reverse),
        lambda: jnp.add(*lax.scan(step, jnp.zeros(x.shape[1:]), x, reverse=reverse)),
    )
    return choices.choice(scans)()


def _lookup(choices: Choices, x: Any, y: Any) -> Any:
    dim = choices.dim(x)
    table = jnp.moveaxis(x, dim, 0)
    rows, size = table.reshape(x.shape[dim], -1), x.shape[dim]
    ids = (jnp.abs(y.ravel()[:6]) * 3).astype(jnp.int32) % size
    updates = jnp.sin(jnp.resize(table, (len(ids), *table.shape[1:])))
    lookups: tuple[Callable[[], Any], ...] = (
        lambda: jnp.take(x, ids, axis=dim),
        lambda: jax.nn.one_hot(ids, size) @ rows,
        lambda: jnp.take_along_axis(x, (jnp.abs(x) * 3).astype(jnp.int32) % size, axis=dim),
        lambda: table.at[ids].add(updates),
        lambda: table.at[ids].max(updates),
        lambda: table.at[ids[:1]].set(updates[:1]),
        lambda: jax.ops.segment_sum(updates, ids, num_segments=4),
        lambda: lax.dynamic_update_slice_in_dim(table, updates[:1], ids[0], 0),
        lambda: jax.vmap(lambda row, number: row[number % row.shape[0]])(table, jnp.arange(size)) if x.ndim > 1 else x,
    )
    return choices.choice(lookups)()


def _control(choices: Choices, x: Any, y: Any) -> Any:
    count = choices.choice((2, 3, 9))

    def iteration(number: Any, value: Any) -> Any:
        return value + lax.dynamic_index_in_dim(value, number % value.shape[0], 0)

    flows: tuple[Callable[[], Any], ...] = (
        lambda: lax.cond(x.sum() > 0, jnp.sin, lambda v: 2 * v, x),
        lambda: lax.switch(jnp.int32(jnp.abs(x).sum()) % 3, [jnp.sin, jnp.negative, lambda v: v + v.sum()], x),
        lambda: lax.fori_loop(0, count, iteration, x),
        lambda: lax.map(lambda row: jnp.tanh(row) + 1, x),
        lambda: jax.checkpoint(lambda v: jnp.sin(jnp.cos(v)))(x),
        lambda: jax.vmap(lambda row: row / (1 + jnp.abs(row).sum()))(x),
    )
    return choices.choice(flows)()


def _sort(choices: Choices, x: Any, y: Any) -> Any:
    sorts: tuple[Callable[[], Any], ...] = (
        lambda: jnp.sort(x, axis=choices.dim(x)),
        lambda: jnp.argsort(x, axis=choices.dim(x)),
        lambda: jnp.median(x, axis=choices.dim(x)),
        lambda: jnp.add(*lax.top_k(x, min(3, x.shape[-1]))),
    )
    return choices.choice(sorts)()


def _windows(choices: Choices, x: Any, y: Any) -> Any:
    value = x.reshape(-1, *((1,) * max(0, 2 - x.ndim)), *x.shape[-2:]) if x.ndim != 3 else x
    stride = choices.choice((1, 2))
    kernel = jnp.linspace(0.1, 0.2, 12).reshape(4, 1, 3) * jnp.ones((4, value.shape[1], 3))
    windows: tuple[Callable[[], Any], ...] = (
        lambda: lax.conv_general_dilated(value, kernel, (stride,), "SAME"),
        lambda: lax.reduce_window(value, -jnp.inf, lax.max, (1, 1, 2), (1, 1, stride), "SAME"),
        lambda: lax.reduce_window(value, 0.0, lax.add, (1, 2, 1), (1, 1, stride), "SAME"),
    )
    return choices.choice(windows)()


def _constraint(choices: Choices, x: Any, y: Any) -> Any:
    return lax.with_sharding_constraint(x, NamedSharding(choices.mesh, choices.spec(x.shape)))


def _random_numbers(choices: Choices, x: Any, y: Any) -> Any:
    return x + choices.choice((jax.random.uniform, jax.random.normal))(jax.random.key(3), x.shape)


STEPS: tuple[Step, ...] = (
    *(_elementwise, _reduction, _product, _movement, _scan, _lookup),
    *(_control, _sort, _windows, _constraint, _random_numbers),
)


@dataclass(frozen=True)
class Composition:
    """A function of a number of steps, and its arguments on an abstract mesh."""

    function: Callable[..., Any]
    arguments: tuple[jax.ShapeDtypeStruct, ...]


def composition(seed: int, steps: int) -> Composition:
    """Return the composition of a seed."""
    axes = Random(seed).choice(MESHES)
    mesh = AbstractMesh(
        tuple(size for _, size in axes), tuple(name for name, _ in axes), axis_types=(AxisType.Auto,) * len(axes)
    )
    choices = Choices(seed, mesh)
    arguments: list[jax.ShapeDtypeStruct] = []
    for _ in range(choices.randint(1, 3)):
        shape = tuple(choices.choice(SIZES) for _ in range(choices.randint(1, 4)))
        element = choices.choice(("float32", "float32", "float32", "int32", "bool"))
        arguments.append(jax.ShapeDtypeStruct(shape, element, sharding=NamedSharding(mesh, choices.spec(shape))))
    function = partial(_composed, seed + 1, mesh, steps)
    floats = tuple(number for number, each in enumerate(arguments) if each.dtype == jnp.float32)
    if floats and choices.random() < SHARE_OF_GRADIENTS:
        function = jax.grad(partial(_total, function), argnums=floats)
    return Composition(function, tuple(arguments))


def _composed(seed: int, mesh: AbstractMesh, steps: int, *arguments: Any) -> list[Any]:
    choices, values = Choices(seed, mesh), list(arguments)
    for _ in range(steps):
        operands = choices.choice(values[-RECENT:]), choices.choice(values)
        # Each step has operands of at least one dim.
        x, y = (each.astype(jnp.float32).reshape(each.shape or (1,)) for each in operands)
        values.append(choices.choice(STEPS)(choices, x, y))
    return [values[-1], choices.choice(values)]


def _total(function: Callable[..., Any], *arguments: Any) -> Any:
    return sum(jnp.sum(each.astype(jnp.float32)) for each in function(*arguments))
