# The edge to JAX, whose array functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false
"""Arrays that are indexed by the positions along some of their dims, and by integers along others."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from support.jax_programs.workloads.workload import floats, integers, workload

CACHE, NEW = floats((16, 32, 4, 8), "data", None, "model"), floats((16, 4, 8), "data", "model")
ROWS = integers((16,), "data")


@workload(CACHE, ROWS, NEW, xla_bytes=896)
def cache_of_each_sequence(cache: Any, positions: Any, new: Any) -> Any:
    """Write the keys of each sequence at its own position."""
    return cache.at[jnp.arange(16), positions].set(new)


@workload(floats((16, 32), "data"), xla_bytes=2_048)
def without_the_largest(logits: Any) -> Any:
    """Set the largest elements of each row to a small number."""
    _, chosen = lax.top_k(logits, 4)
    return logits.at[jnp.arange(16)[:, None], chosen].set(-1e9)


@workload(floats((16, 4, 32), "data", None, "model"), integers((16, 4), "data"), xla_bytes=3_072)
def beams_of_their_parents(states: Any, parents: Any) -> Any:
    """Reorder the states of the beams of each sequence."""
    return states[jnp.arange(16)[:, None], parents]


@workload(floats((8, 32), None, "model"), floats((16, 16, 8), "data"), integers((16, 16), "data"), xla_bytes=3_840)
def gradient_of_cross_entropy(weight: Any, x: Any, labels: Any) -> Any:
    """The gradient of the mean of the negative log-likelihood of labels, which index a sharded vocabulary."""

    def loss(weight: Any) -> Any:
        log_likelihood = jax.nn.log_softmax(x @ weight)
        return -jnp.mean(log_likelihood[jnp.arange(16)[:, None], jnp.arange(16)[None], labels])

    return jax.grad(loss)(weight)


@workload(floats((16, 32, 8), "data", None, "model"), integers((16, 5), "data"), xla_bytes=2_700)
def slots_of_each_row(values: Any, slots: Any) -> Any:
    """Read some slots of the memory of each row."""
    return values[jnp.arange(16)[:, None], slots]
