"""All workloads, by name."""

from support.jax_programs.workloads import indexing, language, numerical
from support.jax_programs.workloads.workload import WORKLOADS

__all__ = ["WORKLOADS", "indexing", "language", "numerical"]
