# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of Optimistix, Lineax and JAXopt: roots, least squares, minima and linear systems."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

jaxopt: Any = import_module("jaxopt")
lineax: Any = import_module("lineax")
optimistix: Any = import_module("optimistix")


def newton() -> LibraryProgram:
    """Find the root of an implicit step for each element of a batch."""

    def solve(matrix: Any, starts: Any) -> Any:
        def one(start: Any) -> Any:
            def residual(y: Any, args: Any) -> Any:
                return y - start - 0.1 * jnp.tanh(args @ y)

            return optimistix.root_find(residual, optimistix.Newton(1e-4, 1e-4), start, matrix, throw=False).value

        return jax.vmap(one)(starts)

    return LibraryProgram(solve, normal(8, 8) / 3, normal(16, 8))


def levenberg_marquardt() -> LibraryProgram:
    """Fit a curve by nonlinear least squares."""

    def fit(start: Any, points: Any) -> Any:
        def residual(p: Any, points: Any) -> Any:
            return p[0] * jnp.exp(-(p[1] ** 2) * points[:, 0] ** 2) - points[:, 1]

        solver = optimistix.LevenbergMarquardt(1e-3, 1e-3)
        return optimistix.least_squares(residual, solver, start, points, max_steps=8, throw=False).value

    return LibraryProgram(fit, np.ones(2, np.float32), np.abs(normal(64, 2)))


def bfgs() -> LibraryProgram:
    """Minimize a loss over the batch by BFGS."""

    def minimize(start: Any, data: Any) -> Any:
        def loss(x: Any, data: Any) -> Any:
            return jnp.log1p(jnp.exp(-data @ x)).mean() + 0.1 * (x**2).sum()

        return optimistix.minimise(loss, optimistix.BFGS(1e-3, 1e-3), start, data, max_steps=8, throw=False).value

    return LibraryProgram(minimize, np.zeros(8, np.float32), normal(64, 8))


def linear_solve() -> LibraryProgram:
    """Solve linear systems by QR and by GMRES."""

    def solve(matrix: Any, vectors: Any) -> Any:
        operator = lineax.MatrixLinearOperator(matrix)

        def one(vector: Any) -> Any:
            exact = lineax.linear_solve(operator, vector, lineax.QR()).value
            near = lineax.linear_solve(operator, vector, lineax.GMRES(1e-3, 1e-3, restart=8), throw=False).value
            return exact + near

        return jax.vmap(one)(vectors)

    return LibraryProgram(solve, normal(8, 8) + 8 * np.eye(8, dtype=np.float32), normal(16, 8))


def projected_gradient() -> LibraryProgram:
    """Minimize over the simplex by projected gradients."""

    def minimize(start: Any, data: Any) -> Any:
        def loss(x: Any) -> Any:
            return ((data @ x) ** 2).mean()

        solver = jaxopt.ProjectedGradient(loss, jaxopt.projection.projection_simplex, maxiter=4, implicit_diff=False)
        return solver.run(start).params

    return LibraryProgram(minimize, np.full(8, 1 / 8, np.float32), normal(64, 8))
