# The edge to JAX, whose functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
"""Programs on meshes with explicit axes compute the results of JAX, with the shardings that JAX infers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec, auto_axes, explicit_axes, reshard
from support.jax_programs.functions import mesh as auto_mesh

import sdy

P = PartitionSpec
Function = Callable[..., Any]


def loss(w: Any, x: Any) -> Any:
    return jnp.square(jnp.dot(x, w, out_sharding=P("x", None))).sum()


def sorted_sums(x: Any) -> Any:
    return auto_axes(lambda y: jnp.sort(y, axis=0).sum(1), out_sharding=P("x"))(x)


def summed_over_x(x: Any) -> Any:
    return jax.shard_map(lambda y: lax.psum(y, "x"), in_specs=P("x", "y"), out_specs=P(None, "y"))(x)


# With explicit axes, x is sharded along ("x", "y"), and w along "y".
CASES: dict[str, Function] = {
    "reshard": lambda x, w: reshard(x, P("y", "x")) * 2,
    "out_sharding of dot": lambda x, w: jnp.dot(x, w, out_sharding=P("x", None)),
    "out_sharding of einsum": lambda x, w: jnp.einsum("ij,jk->ik", x, w, out_sharding=P(None, "y")),
    "out_sharding of a gather": lambda x, w: x.at[jnp.array([0, 1])].get(out_sharding=P(None, "y")),
    "transpose": lambda x, w: jnp.sin(x).T,
    "auto_axes": lambda x, w: sorted_sums(x),
    "shard_map": lambda x, w: summed_over_x(x),
    "gradient": lambda x, w: jax.grad(loss)(w, x),
}


def check(function: Function, mesh: jax.sharding.Mesh) -> None:
    random = np.random.default_rng(0)
    x = jax.device_put(random.standard_normal((8, 16)).astype(np.float32), NamedSharding(mesh, P("x", "y")))
    w = jax.device_put(random.standard_normal((16, 8)).astype(np.float32), NamedSharding(mesh, P("y", None)))
    with jax.set_mesh(mesh):
        expected = jax.jit(function)(x, w)
        program = sdy.from_jax(function, x, w)
    assert [outcome.problem for outcome in program.verify(x, w, expected=expected) if not outcome.agrees] == []
    placed: Any = program.partition().output_shardings()
    assert placed.is_equivalent_to(expected.sharding, expected.ndim)


@pytest.mark.parametrize("name", CASES)
def test_explicit_axes(name: str) -> None:
    check(CASES[name], jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2))


def test_explicit_axes_inside_of_auto_axes() -> None:
    check(lambda x, w: explicit_axes(lambda y: jnp.sin(y) * 2, in_sharding=P("x", "y"))(x), auto_mesh())
