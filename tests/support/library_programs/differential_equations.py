# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of Diffrax: solvers with fixed and adaptive steps, adjoints, and stochastic equations."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from support.library_programs.plain_jax import normal, sgd
from support.library_programs.program import LibraryProgram

diffrax: Any = import_module("diffrax")
eqx: Any = import_module("equinox")


def neural_equation() -> LibraryProgram:
    """Train a neural differential equation with fixed steps."""
    model = eqx.nn.MLP(8, 8, 32, 1, activation=jnp.tanh, key=jax.random.key(0))
    arrays, static = eqx.partition(model, eqx.is_inexact_array)

    def loss(arrays: Any, starts: Any) -> Any:
        net = eqx.combine(arrays, static)
        term = diffrax.ODETerm(lambda t, y, args: net(y))

        def end(start: Any) -> Any:
            solution = diffrax.diffeqsolve(
                term, diffrax.Heun(), 0.0, 1.0, 0.25, start, stepsize_controller=diffrax.ConstantStepSize(), max_steps=8
            )
            return solution.ys[-1]

        return (jax.vmap(end)(starts) ** 2).mean()

    return LibraryProgram(lambda arrays, data: jax.tree.leaves(sgd(loss)(arrays, data)), arrays, normal(16, 8))


def lorenz() -> LibraryProgram:
    """Solve the Lorenz equations from many starts with adaptive steps."""

    def solve(constants: Any, starts: Any) -> Any:
        def slope(_: Any, y: Any, constants: Any) -> Any:
            a, b, c = constants
            return jnp.stack([a * (y[1] - y[0]), y[0] * (b - y[2]) - y[1], y[0] * y[1] - c * y[2]])

        def one(start: Any) -> Any:
            return diffrax.diffeqsolve(
                diffrax.ODETerm(slope), diffrax.Tsit5(), 0.0, 0.5, 0.01, start, constants,
                stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-3), max_steps=64,
            ).ys[-1]  # fmt: skip

        return jax.vmap(one)(starts)

    return LibraryProgram(solve, np.array([10, 28, 8 / 3], np.float32), normal(16, 3))


def adjoint() -> LibraryProgram:
    """Compute a gradient by solving the adjoint equation backwards."""

    def loss(matrix: Any, starts: Any) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: jnp.tanh(y @ args)), diffrax.Dopri5(), 0.0, 1.0, 0.25, starts, matrix,
            adjoint=diffrax.BacksolveAdjoint(), max_steps=16,
        )  # fmt: skip
        return (solution.ys[-1] ** 2).mean()

    return LibraryProgram(sgd(loss), normal(16, 16) / 4, normal(32, 16))


def stochastic_equation() -> LibraryProgram:
    """Simulate paths of a stochastic equation with a virtual Brownian tree."""

    def solve(keys: Any, starts: Any) -> Any:
        def one(start: Any, key: Any) -> Any:
            noise = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-2, (4,), jax.random.wrap_key_data(key))
            terms = diffrax.MultiTerm(
                diffrax.ODETerm(lambda t, y, args: -y), diffrax.ControlTerm(lambda t, y, args: 0.1 * jnp.eye(4), noise)
            )
            return diffrax.diffeqsolve(terms, diffrax.Euler(), 0.0, 1.0, 0.25, start, max_steps=8).ys[-1]

        return jax.vmap(one)(starts, keys)

    keys = np.arange(32, dtype=np.uint32).reshape(16, 2)
    return LibraryProgram(solve, keys, normal(16, 4))
