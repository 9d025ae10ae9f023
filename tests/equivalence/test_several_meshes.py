# The edge to JAX, whose functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
"""Programs whose shardings are on several meshes of the same devices compute the results of one device."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

import sdy
from sdy.program.program import Program

P = PartitionSpec
Function = Callable[..., Any]
RING = [(device, (device + 1) % 8) for device in range(8)]


def mesh(**sizes: int) -> Mesh:
    devices = np.array(jax.devices()[: prod(sizes.values())])
    return Mesh(devices.reshape(tuple(sizes.values())), tuple(sizes))


DATA, XY, AB, PQS = mesh(data=8), mesh(x=4, y=2), mesh(a=2, b=4), mesh(p=2, q=2, s=2)
SIX, SIX_TURNED = mesh(x=3, y=2), mesh(a=2, b=3)


def placed(values: np.ndarray, on: Mesh, *entries: str | tuple[str, ...] | None) -> Any:
    return jax.device_put(values, NamedSharding(on, P(*entries)))


def constrained(x: Any, on: Mesh, *entries: str | tuple[str, ...] | None) -> Any:
    return lax.with_sharding_constraint(x, NamedSharding(on, P(*entries)))


def on_shards(body: Function, on: Mesh, into: Any, out: P, **options: Any) -> Function:
    return jax.shard_map(body, mesh=on, in_specs=into, out_specs=out, check_vma=False, **options)


def two_shard_maps(x: Any) -> Any:
    rows = on_shards(lambda z: lax.psum(z, "x"), XY, P("x", "y"), P(None, "y"))(x)
    return on_shards(lambda z: lax.all_gather(z, "b", tiled=True), AB, P(("a", "b")), P("a"))(rows.T).sum()


def loss(w: Any, x: Any) -> Any:
    product = on_shards(lambda w, x: lax.psum(x @ w, "y"), XY, (P("y"), P("x", "y")), P("x"))
    return (product(w, x) ** 2).sum()


def scaled_sum(axis: str) -> Function:
    """Return a function of shards whose result shows the position along `axis`."""
    return lambda z: lax.psum(z * (1 + lax.axis_index(axis)), axis)


X = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
SQUARE = X.T @ X
SIXES = X.reshape(-1)[:72].reshape(12, 6)
CASES: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "a shard_map with other axes": (
        lambda x: on_shards(lambda z: lax.psum(z, "y"), XY, P("x", "y"), P("x"))(jnp.sin(x)) @ jnp.ones((4, 4)),
        (placed(X, DATA, "data"),),
    ),
    "a ring over all devices": (
        lambda x: on_shards(lambda z: lax.ppermute(z, "data", RING), DATA, P("data"), P("data"))(jnp.sin(x)).sum(1),
        (placed(X, XY, "x", "y"),),
    ),
    "a constraint with sub-axes": (lambda x: constrained(jnp.sin(x), AB, "a", "b") * 2, (placed(X, XY, "x", "y"),)),
    "arguments on two meshes": (lambda x, y: x @ y, (placed(X, XY, "x", "y"), placed(X.T, AB, "a", "b"))),
    "out_shardings": (
        jax.jit(lambda x: x * 2, out_shardings=NamedSharding(PQS, P(("s", "p")))),
        (placed(X, AB, "a", "b"),),
    ),
    "three meshes": (two_shard_maps, (placed(X, PQS, "p", "q"),)),
    "gradient": (jax.grad(loss), (placed(SQUARE, DATA, "data"), placed(X, DATA, "data"))),
    "some manual axes": (
        lambda x: on_shards(scaled_sum("a"), AB, P("a"), P(), axis_names={"a"})(jnp.sin(x)) * 2,
        (placed(X, DATA, "data"),),
    ),
    "meshes without common sub-axes": (
        lambda x: constrained(jnp.sin(x), SIX_TURNED, "a", "b").T @ x,
        (placed(SIXES, SIX, "x", "y"),),
    ),
    "manual axes that are not sub-axes of the other mesh": (
        lambda x: on_shards(scaled_sum("a"), SIX_TURNED, P("a"), P(), axis_names={"a"})(jnp.sin(x)).T @ x[:6],
        (placed(SIXES, SIX, "x", "y"),),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_several_meshes_compute_what_jax_computes(name: str) -> None:
    function, arguments = CASES[name]
    expected = np.asarray(jax.jit(function)(*arguments))
    program = sdy.from_jax(function, *arguments)
    assert [each.problem for each in program.verify(*arguments, expected=expected) if not each.agrees] == []
    np.testing.assert_allclose(np.asarray(program.partition().to_jax()(*arguments)), expected, rtol=1e-5, atol=1e-5)


def text_on(mesh: str) -> str:
    """Return a program that constrains a value to another mesh of 8 devices, with the axes "a"=2 and "b"=4."""
    return f"""
sdy.mesh @mesh = <["x"=4, "y"=2]>
sdy.mesh @other = {mesh}
func.func @main(%x: tensor<16x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{"y"}}]>}})
    -> tensor<16x16xf32> {{
  %0 = stablehlo.sine %x : tensor<16x8xf32>
  %1 = sdy.sharding_constraint %0 <@other, [{{"a"}}, {{"b"}}]> : tensor<16x8xf32>
  %2 = stablehlo.dot_general %1, %x, contracting_dims = [1] x [1]
      : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}}"""


@pytest.mark.parametrize(
    "ids",
    ["[0, 2, 4, 6, 1, 3, 5, 7]", "[7, 6, 5, 4, 3, 2, 1, 0]", "[5, 2, 7, 0, 1, 3, 4, 6]"],
)
def test_devices_in_another_order(ids: str) -> None:
    assert_same_on_shards(Program.from_text(text_on(f'<["a"=2, "b"=4], device_ids={ids}>')), [X])


def test_no_data_moves_where_the_devices_along_axes_are_the_same() -> None:
    """The devices along "a" are those along "y", and the devices along "b" those along "x"."""
    turned = text_on('<["a"=2, "b"=4], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]>').replace(
        '[{"a"}, {"b"}]', '[{"b"}, {"a"}]'
    )
    on_first = turned.replace('<@other, [{"b"}, {"a"}]>', '<@mesh, [{"x"}, {"y"}]>')
    counts = [count_of_collectives(Program.from_text(text)) for text in (turned, on_first)]
    assert counts[0] == counts[1]
