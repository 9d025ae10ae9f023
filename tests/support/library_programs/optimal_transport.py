# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of OTT: Sinkhorn and its variants."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

pointcloud: Any = import_module("ott.geometry.pointcloud")
linear_problem: Any = import_module("ott.problems.linear.linear_problem")
solvers: Any = import_module("ott.solvers.linear.sinkhorn")
divergence: Any = import_module("ott.tools.sinkhorn_divergence")


def sinkhorn() -> LibraryProgram:
    """Compute the transport between two clouds of points."""

    def cost(scale: Any, points: Any) -> Any:
        geometry = pointcloud.PointCloud(points[0] * scale, points[1], epsilon=1.0)
        found = solvers.Sinkhorn(max_iterations=20)(linear_problem.LinearProblem(geometry))
        return found.reg_ot_cost, found.f

    return LibraryProgram(cost, normal(4), (normal(32, 4), normal(32, 4, seed=1)))


def gradient_of_divergence() -> LibraryProgram:
    """Compute the gradient of the Sinkhorn divergence by unrolling."""

    def gradient(scale: Any, points: Any) -> Any:
        def loss(scale: Any) -> Any:
            found = divergence.sinkhorn_divergence(
                pointcloud.PointCloud, points[0] * scale, points[1], epsilon=1.0,
                solve_kwargs={"max_iterations": 10, "min_iterations": 10},
            )  # fmt: skip
            return found[0]

        return jax.grad(loss)(scale)

    return LibraryProgram(gradient, normal(4), (normal(16, 4), normal(16, 4, seed=1)))


def unbalanced_transport() -> LibraryProgram:
    """Transport part of the mass only."""

    def plan(scale: Any, points: Any) -> Any:
        geometry = pointcloud.PointCloud(points[0] * scale, points[1], epsilon=1.0)
        problem = linear_problem.LinearProblem(geometry, tau_a=0.9, tau_b=0.9)
        return solvers.Sinkhorn(max_iterations=10)(problem).matrix

    return LibraryProgram(plan, normal(4), (normal(32, 4), normal(16, 4, seed=1)))
