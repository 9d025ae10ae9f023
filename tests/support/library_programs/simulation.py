# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of JAX MD: energies, forces and simulations of particles."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax
import numpy as np

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

energy: Any = import_module("jax_md.energy")
simulate: Any = import_module("jax_md.simulate")
space: Any = import_module("jax_md.space")
SIDE = 8.0
GRID = np.stack(np.meshgrid(*[np.arange(4)] * 3), -1).reshape(-1, 3).astype(np.float32) * 2 + 0.1 * normal(64, 3)


def lennard_jones_forces() -> LibraryProgram:
    """Compute the forces between all pairs of particles in a periodic box."""

    def forces(sigma: Any, positions: Any) -> Any:
        displacement, _ = space.periodic(SIDE)
        return -jax.grad(energy.lennard_jones_pair(displacement, sigma=sigma))(positions)

    return LibraryProgram(forces, np.float32(1), GRID)


def constant_energy() -> LibraryProgram:
    """Simulate particles at constant energy."""

    def run(velocities: Any, positions: Any) -> Any:
        displacement, shift = space.periodic(SIDE)
        init, apply = simulate.nve(energy.soft_sphere_pair(displacement, sigma=2.0), shift, dt=1e-3)
        state = init(jax.random.key(0), positions, kT=0.1)
        state = state.set(momentum=state.momentum + velocities)
        return jax.lax.fori_loop(0, 3, lambda _, state: apply(state), state).position

    return LibraryProgram(run, normal(64, 3) / 10, GRID)


def brownian_motion() -> LibraryProgram:
    """Simulate Brownian motion of replicas of a system."""

    def run(sigma: Any, replicas: Any) -> Any:
        displacement, shift = space.free()
        init, apply = simulate.brownian(energy.soft_sphere_pair(displacement, sigma=sigma), shift, 1e-3, 0.1)

        def one(positions: Any) -> Any:
            state = init(jax.random.key(0), positions)
            return jax.lax.fori_loop(0, 3, lambda _, state: apply(state), state).position

        return jax.vmap(one)(replicas)

    return LibraryProgram(run, np.float32(1.5), normal(8, 16, 3) * 3)
