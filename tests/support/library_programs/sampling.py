# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of BlackJAX: chains of samplers side by side."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

blackjax: Any = import_module("blackjax")


def _density(x: Any) -> Any:
    return -0.5 * (x**2).sum() - 0.1 * (x[0] ** 2 - x[1]) ** 2


def _chains(make: Any, steps: int = 2) -> LibraryProgram:
    """Return a few steps of a sampler for each of 16 chains."""

    def sample(parameters: Any, starts: Any) -> Any:
        sampler = make(parameters)

        def chain(start: Any, key: Any) -> Any:
            def once(state: Any, key: Any) -> Any:
                state, _ = sampler.step(key, state)
                return state, state.position

            keys = jax.random.split(key, steps)
            return jax.lax.scan(once, sampler.init(start), keys)[1]

        return jax.vmap(chain)(starts, jax.random.split(jax.random.key(3), 16))

    return LibraryProgram(sample, np.ones(4, np.float32), normal(16, 4))


def hamiltonian() -> LibraryProgram:
    """Sample with HMC."""
    return _chains(lambda mass: blackjax.hmc(_density, 0.1, mass, 4))


def no_u_turns() -> LibraryProgram:
    """Sample with NUTS, whose trees grow in nested loops."""
    return _chains(lambda mass: blackjax.nuts(_density, 0.3, mass, max_num_doublings=3))


def langevin() -> LibraryProgram:
    """Sample with the Langevin algorithm."""
    return _chains(lambda _: blackjax.mala(_density, 0.1), steps=4)


def random_walk() -> LibraryProgram:
    """Sample by a random walk."""
    return _chains(lambda sigma: blackjax.additive_step_random_walk(_density, blackjax.mcmc.random_walk.normal(sigma)))


def sequential_monte_carlo() -> LibraryProgram:
    """Resample particles by their weights."""

    def resampled(key: Any, particles: Any) -> Any:
        weights = jax.nn.softmax(jax.vmap(_density)(particles))
        chosen = blackjax.smc.resampling.systematic(jax.random.wrap_key_data(key), weights, len(particles))
        return particles[chosen], jnp.cumsum(weights)

    return LibraryProgram(resampled, np.array([1, 2], np.uint32), normal(64, 4))
