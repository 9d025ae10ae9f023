"""Programs from JAX functions that name an abstract mesh anywhere, and for platforms that are not there."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

import sdy
from sdy.diagnostics.diagnostic import SdyError

ABSTRACT = AbstractMesh((4,), ("x",), axis_types=(AxisType.Auto,))
EXPLICIT = AbstractMesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)


def rows(of: AbstractMesh) -> NamedSharding:
    return NamedSharding(of, PartitionSpec("x"))


def constrained(x: jax.Array) -> jax.Array:
    return jax.lax.with_sharding_constraint(x * 2, rows(ABSTRACT))


def repeated(x: jax.Array) -> jax.Array:
    def body(_: int, value: jax.Array) -> jax.Array:
        return constrained(value)

    return cast(jax.Array, jax.lax.fori_loop(0, 3, body, x))


def mapped(x: jax.Array) -> jax.Array:
    spec = PartitionSpec("x")
    return jax.shard_map(jnp.tanh, mesh=ABSTRACT, in_specs=spec, out_specs=spec)(x)


def jitted_inside(x: jax.Array) -> jax.Array:
    return cast(jax.Array, jax.jit(jnp.sin, out_shardings=rows(ABSTRACT))(x))


def closing_over(x: jax.Array) -> jax.Array:
    return x + COMMITTED


def explicit(x: jax.Array) -> jax.Array:
    return jax.reshard(x, rows(EXPLICIT)) * 2


ARGUMENT = jax.ShapeDtypeStruct((8, 4), jnp.float32)
ONE_DEVICE = NamedSharding(jax.make_mesh((1,), ("one",), axis_types=(AxisType.Auto,)), PartitionSpec())
COMMITTED = cast(jax.Array, jax.device_put(jnp.ones((8, 4)), ONE_DEVICE))
# functions that name an abstract mesh, and the type of its axes
NAMED_MESHES: dict[str, tuple[Callable[..., jax.Array], AxisType]] = {
    "in_shardings": (jax.jit(jnp.sin, in_shardings=rows(ABSTRACT)), AxisType.Auto),
    "out_shardings": (jax.jit(jnp.sin, out_shardings=rows(ABSTRACT)), AxisType.Auto),
    "inner jit": (jitted_inside, AxisType.Auto),
    "constraint": (constrained, AxisType.Auto),
    "constraint in a loop": (repeated, AxisType.Auto),
    "shard_map": (mapped, AxisType.Auto),
    "closure over an array on one device": (jax.jit(closing_over, out_shardings=rows(ABSTRACT)), AxisType.Auto),
    "explicit axes": (explicit, AxisType.Explicit),
}


@pytest.mark.parametrize("name", NAMED_MESHES)
@pytest.mark.parametrize("has_argument", [True, False])
def test_the_mesh_may_be_named_anywhere(name: str, has_argument: bool) -> None:
    function, kind = NAMED_MESHES[name]
    program = sdy.from_jax(function, ARGUMENT) if has_argument else sdy.from_jax(lambda: function(jnp.ones((8, 4))))
    result = program.propagate().output_shardings()
    assert isinstance(result, NamedSharding)
    assert result.spec == PartitionSpec("x")
    assert isinstance(result.mesh, AbstractMesh)
    assert set(result.mesh.axis_types) == {kind}
    assert program.verify().verdict.value == "the same function"


@pytest.mark.parametrize(("axes", "names"), [((4,), ("x",)), ((2, 3), ("a", "b"))])
def test_functions_that_need_devices_are_told_how_to_simulate_them(axes: tuple[int, ...], names: tuple[str]) -> None:
    named = NamedSharding(AbstractMesh(axes, names), PartitionSpec(names[0]))
    argument = jax.ShapeDtypeStruct((12, 4), jnp.float32, sharding=named)

    def called_back(x: jax.Array) -> jax.Array:
        return cast(jax.Array, jax.pure_callback(np.asarray, jax.ShapeDtypeStruct((12, 4), jnp.float32), x))

    with pytest.raises(SdyError, match=r"\[SDY-T216\]") as raised:
        sdy.from_jax(called_back, argument)
    assert f"device_count={int(np.prod(axes))} before JAX starts" in str(raised.value)
    assert f"jax.make_mesh({axes}, {names})" in str(raised.value)


def test_an_array_on_fewer_devices_than_the_abstract_mesh_has() -> None:
    with pytest.raises(SdyError, match=r"pass jax\.ShapeDtypeStruct instead of the arrays, or simulate") as raised:
        sdy.from_jax(jax.jit(jnp.sin, out_shardings=rows(ABSTRACT)), COMMITTED)
    assert raised.value.diagnostics[0].code == "SDY-T216"


def test_the_platform_need_not_be_there() -> None:
    assert sdy.from_jax(jnp.sin, ARGUMENT, platform="tpu").verify().verdict.value == "the same function"
    with pytest.raises(SdyError, match=r"platform 'gpu' \[SDY-T217\]\n  hint: use one of cpu, tpu, cuda, rocm"):
        sdy.from_jax(jnp.sin, ARGUMENT, platform="gpu")


def double(x: jax.Array) -> jax.Array:
    return 2 * x


def scaled(x: jax.Array, mesh: float) -> jax.Array:
    return x * mesh


def test_options_of_jit_are_not_arguments_of_the_function() -> None:
    with pytest.raises(
        SdyError, match=r"double has no parameter in_shardings \[SDY-T222\]\n  hint: pass jax\.jit\(double"
    ):
        sdy.from_jax(double, ARGUMENT, in_shardings=None)
    with pytest.raises(SdyError, match=r"double has no parameter mesh \[SDY-T222\]\n  hint: the mesh is that of the"):
        sdy.from_jax(jax.jit(double), ARGUMENT, mesh=None)
    assert sdy.from_jax(scaled, ARGUMENT, mesh=2.0).run(np.ones((8, 4), np.float32), mesh=2.0).sum() == 64


def test_the_source_of_an_op_is_the_innermost_line_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "site-packages" / "library_of_products.py"
    library.parent.mkdir()
    library.write_text("def product(a, b):\n    return a @ b\n")
    monkeypatch.syspath_prepend(str(library.parent))
    product: Any = importlib.import_module("library_of_products").product
    matrix = jax.ShapeDtypeStruct((8, 8), jnp.float32)

    def mine(a: jax.Array, b: jax.Array) -> jax.Array:
        return product(a, b)

    (mine_line,) = sdy.from_jax(mine, matrix, matrix).origin.source_lines.values()
    assert mine_line.startswith("test_jax_meshes.py:")
    (line,) = sdy.from_jax(product, matrix, matrix).origin.source_lines.values()
    assert line == "library_of_products.py:2", "if the user calls nothing but the library"
