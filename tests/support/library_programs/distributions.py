# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of Distrax: densities, flows and hidden Markov models."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from support.library_programs.plain_jax import normal, sgd
from support.library_programs.program import LibraryProgram

distrax: Any = import_module("distrax")


def normal_density() -> LibraryProgram:
    """Compute the density of a normal distribution with a full covariance."""

    def density(factor: Any, points: Any) -> Any:
        return distrax.MultivariateNormalTri(jnp.zeros(8), factor).log_prob(points)

    return LibraryProgram(density, np.tril(normal(8, 8)) + 4 * np.eye(8, dtype=np.float32), normal(64, 8))


def coupling_flow() -> LibraryProgram:
    """Train a flow of masked couplings."""

    def loss(parameters: Any, points: Any) -> Any:
        layers: list[Any] = []
        for index, (first, second) in enumerate(parameters):
            mask = (jnp.arange(8) % 2 == index % 2).astype(bool)
            layers.append(distrax.MaskedCoupling(mask, _Conditioner(first, second), _affine))
        base = distrax.Independent(distrax.Normal(jnp.zeros(8), jnp.ones(8)), 1)
        return -distrax.Transformed(base, distrax.Chain(layers)).log_prob(points).mean()

    parameters = [(normal(8, 16, seed=seed) / 4, normal(16, 16, seed=seed + 5) / 8) for seed in range(2)]
    return LibraryProgram(sgd(loss), parameters, normal(32, 8))


def _affine(parameters: Any) -> Any:
    return distrax.ScalarAffine(parameters[..., 0], log_scale=parameters[..., 1])


class _Conditioner:
    """Two dense layers that return a shift and a scale per dim."""

    def __init__(self, first: Any, second: Any) -> None:
        self._first, self._second = first, second

    def __call__(self, x: Any) -> Any:
        out = jnp.tanh(x @ self._first) @ self._second
        return out.reshape(*x.shape[:-1], 8, 2)


def hidden_markov_model() -> LibraryProgram:
    """Run the forward and backward algorithm on each sequence."""

    def smooth(state: Any, observed: Any) -> Any:
        start, moves, means = state
        model = distrax.HMM(distrax.Categorical(start), distrax.Categorical(moves), distrax.Normal(means, jnp.ones(4)))
        return jax.vmap(lambda one: model.forward_backward(one)[2:])(observed)

    return LibraryProgram(smooth, (normal(4), normal(4, 4), normal(4)), normal(16, 16))


def spline() -> LibraryProgram:
    """Transform points by a rational quadratic spline."""

    def transform(parameters: Any, x: Any) -> Any:
        return distrax.RationalQuadraticSpline(parameters, -3.0, 3.0).forward_and_log_det(x)

    return LibraryProgram(transform, normal(8, 13), normal(64, 8))
