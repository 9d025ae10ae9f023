"""Programs that XLA writes with `--xla_dump_to`, before it optimizes them: the same as the StableHLO they come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import sdy
from sdy.dialects.ir.symbols import main_function

P = PartitionSpec


def product(x: jax.Array, w: jax.Array) -> jax.Array:
    return x @ w


def layers(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    return jnp.sum(jnp.tanh(x @ w) @ v)


def gradients(x: jax.Array, w: jax.Array, v: jax.Array) -> list[jax.Array]:
    return cast(list[jax.Array], jax.grad(layers, argnums=(1, 2))(x, w, v))


def loop(x: jax.Array, w: jax.Array) -> jax.Array:
    def step(_: int, y: jax.Array) -> jax.Array:
        return jnp.tanh(y @ w)

    return cast(jax.Array, lax.fori_loop(0, 3, step, x))


def softmax(x: jax.Array, w: jax.Array) -> jax.Array:
    return jax.nn.softmax(x @ w, axis=-1)


def branch(x: jax.Array, w: jax.Array) -> jax.Array:
    def multiplied() -> jax.Array:
        return x @ w

    def added() -> jax.Array:
        return x + w.sum()

    return cast(jax.Array, lax.cond(x.sum() > 0, multiplied, added))


def lookup(table: jax.Array, rows: jax.Array) -> jax.Array:
    return table[rows.astype(jnp.int32)[:, 0] % 4]


def constrained(x: jax.Array, w: jax.Array) -> jax.Array:
    return lax.with_sharding_constraint(x @ w, NamedSharding(mesh(), P("y", "x"))) + 1


def padded(x: jax.Array, w: jax.Array) -> jax.Array:
    return jnp.concatenate([x, w], axis=1)[:, 2:-2]


def mesh() -> jax.sharding.Mesh:
    return jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)


TWO = ((16, 8), (8, 8))
THREE = ((16, 8), (8, 16), (16, 8))
CASES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...], tuple[PartitionSpec, ...]]] = {
    "rows": (product, TWO, (P("x"), P())),
    "columns": (product, TWO, (P(), P(None, "y"))),
    "summands": (product, TWO, (P(None, "x"), P("x"))),
    "two axes": (product, TWO, (P("x"), P(None, "y"))),
    "one dim": (product, TWO, (P(("x", "y")), P())),
    "conflict": (product, TWO, (P("x"), P(None, "x"))),
    "tensor parallel": (layers, THREE, (P("x"), P(None, "y"), P("y"))),
    "gradients": (gradients, THREE, (P("x"), P(None, "y"), P("y"))),
    "fully sharded": (gradients, THREE, (P("x"), P("x"), P(None, "x"))),
    "loop": (loop, TWO, (P("x"), P(None, "y"))),
    "softmax": (softmax, TWO, (P("x"), P(None, "y"))),
    "branch": (branch, TWO, (P("x"), P())),
    "lookup": (lookup, TWO, (P("x"), P())),
    "constraint": (constrained, TWO, (P("x"), P())),
    "concatenate": (padded, ((16, 8), (16, 8)), (P("x", "y"), P("x"))),
}


@pytest.mark.parametrize("name", CASES)
def test_a_dump_is_the_same_program(name: str, tmp_path: Path) -> None:
    function, shapes, specs = CASES[name]
    on = mesh()
    arguments = [
        jax.ShapeDtypeStruct(shape, np.float32, sharding=NamedSharding(on, spec))
        for shape, spec in zip(shapes, specs, strict=True)
    ]
    jitted = jax.jit(function)
    lowered = jitted.lower(*arguments)
    lowered.compile({"xla_dump_to": str(tmp_path), "xla_dump_hlo_as_text": True})
    (dump,) = tmp_path.glob("*before_optimizations.txt")
    written, read = sdy.Program.from_text(lowered.as_text()), sdy.load(str(dump))
    assert boundary(read) == boundary(written)
    assert collectives(read) == collectives(written)


def boundary(program: sdy.Program) -> list[tuple[str, ...]]:
    """Return the local types of the arguments and results of the partitioned program."""
    types = main_function(program.partition().local).function_type
    return [tuple(map(str, types.inputs)), tuple(map(str, types.outputs))]


def collectives(program: sdy.Program) -> list[tuple[str, int, float]]:
    return sorted((each.kind.value, each.runs, each.bytes_sent) for each in program.cost("tpu_v5e").collectives)
