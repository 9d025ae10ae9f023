"""All workloads, by name."""

from support.jax_programs.workloads import images, indexing, language, numerical
from support.jax_programs.workloads.workload import WORKLOADS

__all__ = ["WORKLOADS", "images", "indexing", "language", "numerical"]
