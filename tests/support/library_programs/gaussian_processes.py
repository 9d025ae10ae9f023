# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of tinygp: densities of Gaussian processes with direct and quasiseparable solvers."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

tinygp: Any = import_module("tinygp")
quasisep: Any = import_module("tinygp.kernels.quasisep")
TIMES = np.sort(np.abs(normal(32))).astype(np.float32)


def direct_solver() -> LibraryProgram:
    """Compute a density and its gradient with a Cholesky factor."""

    def density(state: Any, data: Any) -> Any:
        def value(state: Any) -> Any:
            kernel = jnp.exp(state[0]) * tinygp.kernels.Matern32(jnp.exp(state[1]))
            return tinygp.GaussianProcess(kernel, data[0], diag=0.1).log_probability(data[1])

        return jax.value_and_grad(value)(state)

    return LibraryProgram(density, np.zeros(2, np.float32), (TIMES, np.sin(TIMES)))


def quasiseparable_solver() -> LibraryProgram:
    """Compute a density and a prediction in linear time, by scans over small matrices."""

    def density(state: Any, data: Any) -> Any:
        kernel = quasisep.Matern32(scale=jnp.exp(state[1]), sigma=jnp.exp(state[0]))
        process = tinygp.GaussianProcess(kernel, data[0], diag=0.1)
        return process.log_probability(data[1]), process.predict(data[1])

    return LibraryProgram(density, np.zeros(2, np.float32), (TIMES, np.sin(TIMES)))


def carma_process() -> LibraryProgram:
    """Compute the density of a continuous autoregressive process, whose roots are eigenvalues."""

    def density(state: Any, data: Any) -> Any:
        kernel = quasisep.CARMA(alpha=jnp.exp(state), beta=jnp.array([1.0, 0.5]))
        return tinygp.GaussianProcess(kernel, data[0], diag=0.1).log_probability(data[1])

    return LibraryProgram(density, np.array([0.1, 0.5], np.float32), (TIMES, np.sin(TIMES)))
