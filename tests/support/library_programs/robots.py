# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of Brax: steps of rigid bodies."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

mjcf: Any = import_module("brax.io.mjcf")
pipeline: Any = import_module("brax.spring.pipeline")
losses: Any = import_module("brax.training.agents.ppo.losses")
PENDULUM = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body pos="0 0 1">
      <joint name="hinge" type="hinge" axis="0 1 0"/>
      <geom type="capsule" size="0.05 0.3" mass="1"/>
      <body pos="0 0 0.6">
        <joint name="elbow" type="hinge" axis="0 1 0"/>
        <geom type="capsule" size="0.05 0.3" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="hinge"/><motor joint="elbow"/></actuator>
</mujoco>
"""


def pendulums() -> LibraryProgram:
    """Step double pendulums side by side."""
    system = mjcf.loads(PENDULUM)

    def run(gain: Any, actions: Any) -> Any:
        def one(action: Any) -> Any:
            state = pipeline.init(system, np.zeros(2, np.float32), np.zeros(2, np.float32))
            state = jax.lax.fori_loop(0, 3, lambda _, state: pipeline.step(system, state, gain * action), state)
            return state.q, state.qd

        return jax.vmap(one)(actions)

    return LibraryProgram(run, np.float32(0.5), normal(16, 2))


def advantages() -> LibraryProgram:
    """Compute generalized advantages in a reverse scan."""

    def compute(discount: Any, data: Any) -> Any:
        rewards, values = (x.T for x in data)
        zeros = jnp.zeros_like(rewards)
        return losses.compute_gae(zeros, zeros, rewards, values, values[-1], 0.95, discount)

    return LibraryProgram(compute, np.float32(0.99), (normal(16, 8), normal(16, 8, seed=1)))
