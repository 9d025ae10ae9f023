"""All steps that are timed."""

from support.jax_programs import timed_layouts, timed_loops, timed_models, timed_networks
from support.jax_programs.timed_step import STEPS

__all__ = ["STEPS", "timed_layouts", "timed_loops", "timed_models", "timed_networks"]
