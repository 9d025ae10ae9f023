# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of NumPyro: densities of models, variational inference and Hamiltonian Monte Carlo."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

numpyro: Any = import_module("numpyro")
dist: Any = import_module("numpyro.distributions")
infer: Any = import_module("numpyro.infer")
handlers: Any = import_module("numpyro.handlers")
util: Any = import_module("numpyro.infer.util")
autoguide: Any = import_module("numpyro.infer.autoguide")
DATA = normal(64, 8), (normal(64, seed=1) > 0).astype(np.float32)


def _logistic(x: Any, y: Any) -> None:
    weights = numpyro.sample("w", dist.Normal(0, 1).expand([8]).to_event(1))
    with numpyro.plate("rows", x.shape[0]):
        numpyro.sample("y", dist.Bernoulli(logits=x @ weights), obs=y)


def _hierarchical(x: Any, y: Any) -> None:
    mean, scale = numpyro.sample("mean", dist.Normal(0, 5)), numpyro.sample("scale", dist.HalfCauchy(1))
    with numpyro.plate("groups", 8):
        effects = numpyro.sample("effects", dist.Normal(mean, scale))
    with numpyro.plate("rows", x.shape[0]):
        numpyro.sample("y", dist.StudentT(4, x @ effects, 1.0), obs=y)


def logistic_density() -> LibraryProgram:
    """Compute the density of a logistic regression and its gradient."""

    def density(weights: Any, data: Any) -> Any:
        return jax.value_and_grad(lambda w: util.log_density(_logistic, data, {}, {"w": w})[0])(weights)

    return LibraryProgram(density, normal(8), DATA)


def hierarchical_potential() -> LibraryProgram:
    """Compute the potential of a hierarchical model on unconstrained values."""

    def potential(values: Any, data: Any) -> Any:
        return jax.grad(lambda v: util.potential_energy(_hierarchical, data, {}, v))(values)

    values = {"mean": np.float32(0.1), "scale": np.float32(0.2), "effects": normal(8)}
    return LibraryProgram(potential, values, DATA)


def variational_inference() -> LibraryProgram:
    """Take a step of variational inference with a normal guide."""
    guide = autoguide.AutoNormal(_logistic)
    svi = infer.SVI(_logistic, guide, numpyro.optim.Adam(0.01), infer.Trace_ELBO())
    start = svi.init(jax.random.key(0), *DATA)

    def step(state: Any, data: Any) -> Any:
        optimizer, key = state
        found, loss = svi.update(start._replace(optim_state=optimizer, rng_key=jax.random.wrap_key_data(key)), *data)
        return found.optim_state, loss

    return LibraryProgram(step, (start.optim_state, np.array([1, 2], np.uint32)), DATA)


def hamiltonian_monte_carlo() -> LibraryProgram:
    """Take steps of HMC on a logistic regression."""

    def sample(state: Any, data: Any) -> Any:
        weights, key = state

        def potential(w: Any) -> Any:
            return util.potential_energy(_logistic, data, {}, {"w": w})

        start, kernel = import_module("numpyro.infer.hmc").hmc(potential, algo="HMC")
        first = start(weights, 0, step_size=0.05, num_steps=4, rng_key=jax.random.wrap_key_data(key))
        return jax.lax.scan(lambda carry, _: (kernel(carry), carry.z), first, None, length=3)[1]

    return LibraryProgram(sample, (normal(8) / 4, np.array([1, 2], np.uint32)), DATA)


def mixture_density() -> LibraryProgram:
    """Compute the density of a mixture with sums over the assignments."""

    def density(state: Any, points: Any) -> Any:
        weights, means = state
        mixture = dist.MixtureSameFamily(dist.Categorical(logits=weights), dist.Normal(means, 1.0).to_event(1))
        return jax.grad(lambda means: dist_log(mixture, points))(means), mixture.log_prob(points)

    def dist_log(mixture: Any, points: Any) -> Any:
        return mixture.log_prob(points).sum()

    return LibraryProgram(density, (normal(4), normal(4, 8)), normal(64, 8, seed=1))


def gaussian_process() -> LibraryProgram:
    """Compute the density of a Gaussian process with a kernel matrix."""

    def density(state: Any, points: Any) -> Any:
        distance = ((points[:, None] - points[None]) ** 2).sum(-1)
        covariance = state[0] * jnp.exp(-distance * state[1]) + 0.1 * jnp.eye(len(points))
        return dist.MultivariateNormal(0.0, covariance).log_prob(points[:, 0])

    return LibraryProgram(density, np.ones(2, np.float32), normal(32, 2))
