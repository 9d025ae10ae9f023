"""A train step of two stages with microbatches, on two meshes of four devices each, from JAX."""

from __future__ import annotations

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from sdy import mpmd

MICROBATCHES = 4
ASSIGNMENT = {"lower": "m0", "upper": "m1", "cut": "m1"}
STAGES = {"lower": 0, "upper": 1}


def all_devices() -> list[Any]:
    return cast("list[Any]", jax.devices())


def topology() -> dict[str, jax.sharding.Mesh]:
    devices = np.array(all_devices()[:8]).reshape(2, 2, 2)
    return {f"m{number}": jax.sharding.Mesh(part, ("x", "y")) for number, part in enumerate(devices)}


def loss(params: dict[str, jax.Array], x: jax.Array, target: jax.Array) -> jax.Array:
    @mpmd.named_computation(name="lower")
    def lower(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.tanh(x @ w)

    hidden = mpmd.named_tensor(lower(x, params["a"]), "cut")

    @mpmd.named_computation(name="upper")
    def upper(hidden: jax.Array, w: jax.Array, target: jax.Array) -> jax.Array:
        return jnp.mean((hidden @ w - target) ** 2)

    return upper(hidden, params["b"], target)


def step(params: dict[str, jax.Array], xs: list[jax.Array], targets: list[jax.Array]) -> dict[str, jax.Array]:
    def microbatch(sums: dict[str, jax.Array], _number: Any, pair: tuple[jax.Array, jax.Array]) -> dict[str, jax.Array]:
        gradients = cast("dict[str, jax.Array]", jax.grad(loss)(params, *pair))
        return {name: total + gradients[name] for name, total in sums.items()}

    zeros = {name: jnp.zeros_like(param) for name, param in params.items()}
    sums = mpmd.enumerated_for(microbatch, zeros, (xs, targets))
    return {name: param - 0.1 * sums[name] for name, param in params.items()}


def arguments() -> tuple[dict[str, jax.Array], list[jax.Array], list[jax.Array]]:
    generator = np.random.default_rng(0)

    def array(*shape: int) -> jax.Array:
        return jnp.asarray(generator.standard_normal(shape).astype(np.float32) / 4)

    params = {"a": array(8, 8), "b": array(8, 8)}
    return params, [array(4, 8) for _ in range(MICROBATCHES)], [array(4, 8) for _ in range(MICROBATCHES)]


def config(**options: Any) -> mpmd.Config:
    meshes = topology()
    return mpmd.make_config(
        meshes,
        ASSIGNMENT,
        name_to_stage_assignment=STAGES,
        partitioning_options={"mpmd_infer_transfers": True},
        **options,
    )


def lowered_step() -> mpmd.Lowered[dict[str, jax.Array]]:
    """Return the step on both meshes, in 1F1B; one weight is sharded."""
    on_x = NamedSharding(topology()["m0"], PartitionSpec(None, "x"))
    shardings = ({"a": on_x, "b": None}, None, None)
    return mpmd.jit(step, config(pipeline_schedule="1F1B"), in_shardings=shardings).lower(*arguments())
