# The edge to JAX, whose functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
"""Programs of JAX's documentation whose `shard_map` has a mesh of its own, whatever the shardings of the arguments."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from support.library_programs.plain_jax import normal, sgd
from support.library_programs.program import LibraryProgram

P = PartitionSpec
RING = [(device, (device + 1) % 8) for device in range(8)]


def _mesh(**sizes: int) -> Mesh:
    return Mesh(np.array(jax.devices()[:8]).reshape(tuple(sizes.values())), tuple(sizes))


def fully_sharded_parameters() -> LibraryProgram:
    """Train with FSDP in a `shard_map`: layers gather their parameters, gradients are scattered."""
    mesh = _mesh(batch=8)

    def on_shards(parameters: Any, x: Any) -> Any:
        for weight in parameters:
            x = jnp.tanh(x @ lax.all_gather(weight, "batch", tiled=True))
        return lax.pmean((x**2).mean(), "batch")

    def loss(parameters: Any, x: Any) -> Any:
        return jax.shard_map(on_shards, mesh=mesh, in_specs=(P("batch"), P("batch")), out_specs=P())(parameters, x)

    return LibraryProgram(sgd(loss), [normal(32, 32, seed=seed) / 6 for seed in range(3)], normal(16, 32))


def collective_matmul() -> LibraryProgram:
    """Multiply matrices while the rows of one travel around a ring."""
    mesh = _mesh(i=8)

    def on_shards(weights: Any, rows: Any) -> Any:
        size, place = rows.shape[0], lax.axis_index("i")

        def once(index: Any, carry: Any) -> Any:
            out, rows = carry
            start = ((place - index) % 8) * size
            out = lax.dynamic_update_slice(out, rows @ weights, (start, 0))
            return out, lax.ppermute(rows, "i", RING)

        out = lax.pcast(jnp.zeros((8 * size, weights.shape[1])), "i", to="varying")
        return lax.fori_loop(0, 8, once, (out, rows))[0]

    def multiply(weights: Any, x: Any) -> Any:
        return jax.shard_map(on_shards, mesh=mesh, in_specs=(P(None, "i"), P("i")), out_specs=P(None, "i"))(weights, x)

    return LibraryProgram(multiply, normal(16, 32), normal(32, 16))


def ring_attention() -> LibraryProgram:
    """Compute attention over a sharded sequence, while keys and values travel around a ring."""
    mesh = _mesh(sequence=8)

    def on_shards(q: Any, k: Any, v: Any) -> Any:
        def once(carry: Any, _: Any) -> Any:
            top, total, out, k, v = carry
            scores = jnp.einsum("bqd,bkd->bqk", q, k)
            new_top = jnp.maximum(top, scores.max(-1))
            weights, kept = jnp.exp(scores - new_top[..., None]), jnp.exp(top - new_top)
            out = out * kept[..., None] + weights @ v
            total = total * kept + weights.sum(-1)
            return (new_top, total, out, *(lax.ppermute(each, "sequence", RING) for each in (k, v))), None

        start = (jnp.full(q.shape[:2], -1e9), jnp.zeros(q.shape[:2]), jnp.zeros(q.shape))
        varying = (lax.pcast(each, "sequence", to="varying") for each in start)
        (_, total, out, *_), _ = lax.scan(once, (*varying, k, v), None, length=8)
        return out / total[..., None]

    def attention(scale: Any, qkv: Any) -> Any:
        specs = P(None, "sequence")
        return jax.shard_map(on_shards, mesh=mesh, in_specs=(specs,) * 3, out_specs=specs)(qkv[0] * scale, *qkv[1:])

    return LibraryProgram(attention, np.float32(0.3), tuple(normal(4, 16, 8, seed=seed) for seed in range(3)))


def pipeline() -> LibraryProgram:
    """Run micro-batches through stages that are on different devices."""
    mesh = _mesh(stage=4, data=2)

    def on_shards(weights: Any, x: Any) -> Any:
        stage, count = lax.axis_index("stage"), x.shape[0]

        def once(carry: Any, index: Any) -> Any:
            state, outputs = carry
            state = jnp.where(stage == 0, x[index % count], state)
            state = jnp.tanh(state @ weights[0])
            done = jnp.where((stage == 3) & (index >= 3), state, outputs[index - 3])
            outputs = lax.dynamic_update_index_in_dim(outputs, done, index - 3, 0)
            return (lax.ppermute(state, "stage", [(i, (i + 1) % 4) for i in range(4)]), outputs), None

        start = (lax.pcast(jnp.zeros_like(x[0]), "stage", to="varying"), lax.pcast(x, "stage", to="varying"))
        (_, outputs), _ = lax.scan(once, start, jnp.arange(count + 3))
        return lax.psum(jnp.where(stage == 3, outputs, 0), "stage")

    def run(weights: Any, x: Any) -> Any:
        specs = (P("stage"), P(None, "data"))
        return jax.shard_map(on_shards, mesh=mesh, in_specs=specs, out_specs=P(None, "data"))(weights, x)

    return LibraryProgram(run, normal(4, 16, 16) / 4, normal(8, 4, 16))


def constraints_on_another_mesh() -> LibraryProgram:
    """Constrain activations on a mesh whose axes differ from those of the arguments."""
    mesh = _mesh(batch=2, model=4)

    def loss(weights: Any, x: Any) -> Any:
        hidden = jnp.tanh(x @ weights[0])
        hidden = lax.with_sharding_constraint(hidden, jax.sharding.NamedSharding(mesh, P("batch", "model")))
        return ((hidden @ weights[1] - x) ** 2).mean()

    return LibraryProgram(sgd(loss), [normal(16, 32) / 4, normal(32, 16, seed=1) / 6], normal(16, 16))
