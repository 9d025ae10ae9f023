"""All workloads, by name."""

from support.jax_programs.workloads import language, numerical
from support.jax_programs.workloads.workload import WORKLOADS

__all__ = ["WORKLOADS", "language", "numerical"]
