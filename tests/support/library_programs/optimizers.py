# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of Optax: one update of each optimizer on a small model, and losses."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

optax: Any = import_module("optax")


def _updated_by(optimizer: Any) -> LibraryProgram:
    """Return an update of the parameters of two dense layers."""
    parameters = {"in": normal(16, 64) / 4, "bias": np.zeros(64, np.float32), "out": normal(64, 16, seed=1) / 8}

    def loss(parameters: Any, data: Any) -> Any:
        x, wanted = data
        return ((jax.nn.relu(x @ parameters["in"] + parameters["bias"]) @ parameters["out"] - wanted) ** 2).mean()

    def step(state: Any, data: Any) -> Any:
        parameters, memory = state
        change, memory = optimizer.update(jax.grad(loss)(parameters, data), memory, parameters)
        return optax.apply_updates(parameters, change), memory

    return LibraryProgram(step, (parameters, optimizer.init(parameters)), (normal(32, 16), normal(32, 16, seed=1)))


def adafactor() -> LibraryProgram:
    """Update with factored second moments."""
    return _updated_by(optax.adafactor(1e-2, min_dim_size_to_factor=8))


def lamb() -> LibraryProgram:
    """Update with norms per layer."""
    return _updated_by(optax.lamb(1e-2))


def lion() -> LibraryProgram:
    """Update by signs."""
    return _updated_by(optax.lion(1e-3))


def clipped_adam() -> LibraryProgram:
    """Clip by the global norm, and follow a schedule."""
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 5, 50)
    return _updated_by(optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(schedule)))


def accumulated_steps() -> LibraryProgram:
    """Update the parameters in every second step only."""
    return _updated_by(optax.MultiSteps(optax.adam(1e-2), 2))


def muon() -> LibraryProgram:
    """Update by orthogonalized momentum."""
    return _updated_by(optax.contrib.muon(1e-2))


def line_search() -> LibraryProgram:
    """Run L-BFGS steps with a line search."""
    solver = optax.lbfgs(memory_size=3)

    def steps(start: Any, data: Any) -> Any:
        def loss(x: Any) -> Any:
            return ((data @ x - 1) ** 2).mean()

        def once(_: Any, carry: Any) -> Any:
            x, memory = carry
            value, gradient = optax.value_and_grad_from_state(loss)(x, state=memory)
            change, memory = solver.update(gradient, memory, x, value=value, grad=gradient, value_fn=loss)
            return optax.apply_updates(x, change), memory

        return jax.lax.fori_loop(0, 3, once, (start, solver.init(start)))[0]

    return LibraryProgram(steps, np.zeros(16, np.float32), normal(64, 16))


def ctc() -> LibraryProgram:
    """Compute the CTC loss and its gradient."""
    labels = np.random.default_rng(0).integers(1, 8, (16, 4)).astype(np.int32)

    def gradient(weights: Any, data: Any) -> Any:
        frames, labels = data

        def loss(weights: Any) -> Any:
            scores = frames @ weights
            return optax.ctc_loss(scores, jnp.zeros(scores.shape[:2]), labels, jnp.zeros(labels.shape)).mean()

        return jax.grad(loss)(weights)

    return LibraryProgram(gradient, normal(16, 8), (normal(16, 12, 16), labels))
