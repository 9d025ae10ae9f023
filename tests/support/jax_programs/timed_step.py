"""A step on 8 devices that takes 20 ms or more on a host, to be timed by `jax.jit` and by `sdy.jit`."""
# The edge to JAX, whose array functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

Shapes = Any  # a pytree of shapes with shardings
ADAM = 0.9, 0.99, 1e-3, 1e-3  # both decays, the rate, and what keeps the root from zero


@dataclass(frozen=True)
class TimedStep:
    """A function, and the shapes and shardings of its arguments."""

    function: Callable[..., Any]
    arguments: tuple[Shapes, ...]

    def arrays(self) -> tuple[Any, ...]:
        """Return arguments of random numbers; integers are positions below 256."""
        keys = iter(jax.random.split(jax.random.key(0), len(jax.tree.leaves(self.arguments))))
        return jax.tree.map(lambda shape: _random(next(keys), shape), self.arguments)


STEPS: dict[str, Callable[[], TimedStep]] = {}


def timed_step(declare: Callable[[], TimedStep]) -> Callable[[], TimedStep]:
    """Enter a step into `STEPS` by its name."""
    STEPS[declare.__name__] = declare
    return declare


def _random(key: Array, shape: jax.ShapeDtypeStruct) -> Array:
    if jnp.issubdtype(shape.dtype, jnp.integer):
        return jax.device_put(jax.random.randint(key, shape.shape, 0, 256, shape.dtype), shape.sharding)
    return jax.device_put(0.05 * jax.random.normal(key, shape.shape, shape.dtype), shape.sharding)


class Shards:
    """Shapes on a mesh."""

    def __init__(self, **axes: int) -> None:
        self.mesh = jax.make_mesh(tuple(axes.values()), tuple(axes), axis_types=(AxisType.Auto,) * len(axes))

    def floats(self, shape: tuple[int, ...], *spec: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(self.mesh, P(*spec)))

    def integers(self, shape: tuple[int, ...], *spec: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.int32, sharding=NamedSharding(self.mesh, P(*spec)))


def trained(loss: Callable[..., Array], params: Shapes, *batch: Shapes, moments: Shapes = None) -> TimedStep:
    """Return a step of Adam on `loss`; both moments are like the parameters, unless given."""

    def step(params: Any, first: Any, second: Any, *batch: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, *batch)
        decay, square_decay, rate, least = ADAM
        first = jax.tree.map(lambda m, g: decay * m + (1 - decay) * g, first, gradient)
        second = jax.tree.map(lambda v, g: square_decay * v + (1 - square_decay) * g * g, second, gradient)
        params = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(jnp.abs(v)) + least), params, first, second)
        return params, first, second, value

    moments = moments or params
    return TimedStep(step, (params, moments, moments, *batch))
