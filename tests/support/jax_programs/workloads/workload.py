"""A program of JAX with sharded arguments, and the list of all that were declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

MESH = AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Workload:
    """A function, the shapes and shardings of its arguments, and the bytes that a device sends at most.

    That is what XLA of JAX 0.10.2 sends, or None if XLA cannot compile the program for CPUs or sends less.
    """

    function: Function
    arguments: tuple[jax.ShapeDtypeStruct, ...]
    xla_bytes: int | None


WORKLOADS: dict[str, Workload] = {}


def floats(shape: tuple[int, ...], *axes: str | None) -> jax.ShapeDtypeStruct:
    """Return an array of floats with the axes of its dims."""
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(MESH, P(*axes)))


def integers(shape: tuple[int, ...], *axes: str | None, dtype: type[np.generic] = np.int32) -> jax.ShapeDtypeStruct:
    """Return an array of integers with the axes of its dims."""
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(MESH, P(*axes)))


def workload(*arguments: jax.ShapeDtypeStruct, xla_bytes: int | None) -> Callable[[Function], Function]:
    """Declare the function below as a workload."""

    def declare(function: Function) -> Function:
        WORKLOADS[function.__name__] = Workload(function, arguments, xla_bytes)
        return function

    return declare
