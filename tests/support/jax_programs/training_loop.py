"""A small training loop with Adam on 4 x 2 devices, for any `jit`: its losses are compared between partitioners."""
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

WIDTH, HIDDEN, LENGTH, BATCH, VOCABULARY = 16, 32, 8, 16, 32
SHAPES = {
    "embedding": ((VOCABULARY, WIDTH), PartitionSpec("model", "data")),
    "query": ((WIDTH, 3, WIDTH), PartitionSpec("data", None, "model")),
    "up": ((WIDTH, HIDDEN), PartitionSpec("data", "model")),
    "down": ((HIDDEN, WIDTH), PartitionSpec("model", "data")),
}


def losses(jit: Any, steps: int) -> list[float]:
    """Return the loss of each step of a loop whose step is jitted by `jit`, with donated parameters."""
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    random = np.random.default_rng(0)

    def placed(values: np.ndarray, spec: PartitionSpec) -> jax.Array:
        """Place an array that every process has; each takes the shards of its own devices."""
        sharding = NamedSharding(mesh, spec)
        return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])

    weights = {name: (random.normal(size=shape) * 0.1, spec) for name, (shape, spec) in SHAPES.items()}
    params = {name: placed(values.astype(np.float32), spec) for name, (values, spec) in weights.items()}
    zeros = {name: placed(np.zeros(values.shape, np.float32), spec) for name, (values, spec) in weights.items()}
    state = {
        "first": zeros,
        "second": jax.tree.map(jnp.copy, zeros),
        "count": placed(np.zeros((), np.int32), PartitionSpec()),
    }
    shardings = jax.tree.map(lambda leaf: leaf.sharding, (params, state))
    step = jit(adam_step, donate_argnums=(0, 1), out_shardings=(*shardings, NamedSharding(mesh, PartitionSpec())))
    found: list[float] = []
    for _ in range(steps):
        first_tokens = random.integers(0, VOCABULARY, size=(BATCH, 1))
        tokens = (first_tokens + 5 * np.arange(LENGTH)) % VOCABULARY  # the next token depends on the last one alone
        params, state, loss = step(params, state, placed(tokens, PartitionSpec("data")))
        found.append(float(loss))
    return found


def adam_step(params: Any, state: Any, tokens: jax.Array) -> tuple[Any, Any, jax.Array]:
    """Return the parameters and the state of Adam after a step, and the loss before it."""
    loss, gradient = jax.value_and_grad(cross_entropy)(params, tokens)
    count = state["count"] + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["first"], gradient)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["second"], gradient)

    def updated(weight: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        return weight - 0.01 * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.99**count)) + 1e-3)

    params = jax.tree.map(updated, params, first, second)
    return params, {"first": first, "second": second, "count": count}, loss


def cross_entropy(params: Any, tokens: jax.Array) -> jax.Array:
    """Return the mean loss of predicting each token from those before it, by one layer of a transformer."""
    x = params["embedding"][tokens]
    query, key, value = jnp.einsum("bsd,dce->cbse", x, params["query"])
    scores = jnp.einsum("bse,bte->bst", query, key) / WIDTH**0.5
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    x = x + jnp.einsum("bst,bte->bse", jax.nn.softmax(jnp.where(mask, scores, -1e9)), value)
    x = x + jax.nn.gelu(x @ params["up"]) @ params["down"]
    predictions = jax.nn.log_softmax(x[:, :-1] @ params["embedding"].T)
    return -jnp.mean(jnp.take_along_axis(predictions, tokens[:, 1:, None], -1))
