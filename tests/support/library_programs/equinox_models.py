# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of Equinox: gradients of its layers, vmapped over the batch."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

eqx: Any = import_module("equinox")
optax: Any = import_module("optax")
KEYS = jax.random.split(jax.random.key(0), 4)


def _training(model: Any, apply: Callable[[Any, Any], Any], x: Any, wanted: Any) -> LibraryProgram:
    """Return a training step of the arrays of a model; `apply` is vmapped over the batch."""
    arrays, static = eqx.partition(model, eqx.is_inexact_array)
    optimizer = optax.adam(1e-3)

    def step(state: Any, data: Any) -> Any:
        arrays, memory = state
        x, wanted = data

        def loss(arrays: Any) -> Any:
            model = eqx.combine(arrays, static)
            return ((jax.vmap(lambda one: apply(model, one))(x) - wanted) ** 2).mean()

        change, memory = optimizer.update(jax.grad(loss)(arrays), memory, arrays)
        return jax.tree.leaves((eqx.apply_updates(arrays, change), memory))

    return LibraryProgram(step, (arrays, optimizer.init(arrays)), (x, wanted))


def mlp() -> LibraryProgram:
    """Train dense layers."""
    model = eqx.nn.MLP(16, 8, 64, 2, key=KEYS[0])
    return _training(model, lambda model, x: model(x), normal(32, 16), normal(32, 8, seed=1))


def convolutions() -> LibraryProgram:
    """Train convolutions, pooling and a transposed convolution."""
    model = eqx.nn.Sequential(
        [
            eqx.nn.Conv2d(4, 8, 3, padding=1, key=KEYS[0]),
            eqx.nn.Lambda(jax.nn.relu),
            eqx.nn.MaxPool2d(2, 2),
            eqx.nn.ConvTranspose2d(8, 4, 2, 2, key=KEYS[1]),
        ]
    )
    return _training(model, lambda model, x: model(x), normal(8, 4, 16, 16), normal(8, 4, 16, 16, seed=1))


def gru() -> LibraryProgram:
    """Train a GRU cell in a scan."""
    cell = eqx.nn.GRUCell(8, 16, key=KEYS[0])

    def run(cell: Any, sequence: Any) -> Any:
        return lax.scan(lambda state, x: (cell(x, state), None), jnp.zeros(16), sequence)[0]

    return _training(cell, run, normal(16, 16, 8), normal(16, 16, seed=1))


def attention() -> LibraryProgram:
    """Train attention with rotary embeddings and layer norm."""
    model = (
        eqx.nn.MultiheadAttention(4, 32, key=KEYS[0]),
        eqx.nn.LayerNorm(32),
        eqx.nn.RotaryPositionalEmbedding(8),
    )

    def run(model: Any, x: Any) -> Any:
        attention, norm, rotary = model
        normed = jax.vmap(norm)(x)

        def rotated(q: Any, k: Any, v: Any) -> Any:
            return jax.vmap(rotary, 1, 1)(q), jax.vmap(rotary, 1, 1)(k), v

        return x + attention(normed, normed, normed, process_heads=rotated)

    return _training(model, run, normal(8, 16, 32), normal(8, 16, 32, seed=1))


def ensemble() -> LibraryProgram:
    """Train an ensemble of models at once."""
    models = eqx.filter_vmap(lambda key: eqx.nn.MLP(8, 4, 16, 1, key=key))(jax.random.split(KEYS[0], 8))

    def run(models: Any, x: Any) -> Any:
        return eqx.filter_vmap(lambda model: model(x))(models).mean(0)

    return _training(models, run, normal(16, 8), normal(16, 4, seed=1))


def mixer() -> LibraryProgram:
    """Train a block of an MLP mixer: dense layers over patches, then over channels."""
    patches, channels = eqx.nn.MLP(16, 16, 32, 1, key=KEYS[0]), eqx.nn.MLP(8, 8, 16, 1, key=KEYS[1])

    def run(model: Any, x: Any) -> Any:
        x = x + jax.vmap(model[0], 1, 1)(x)
        return x + jax.vmap(model[1])(x)

    return _training((patches, channels), run, normal(8, 16, 8), normal(8, 16, 8, seed=1))
