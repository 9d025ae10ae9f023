"""Shardy's compiler of programs on several meshes, as jaxlib ships it: the function behind `jax_mpmd`."""

from __future__ import annotations

import sys
from importlib import import_module

from support.oracle.jaxlib_mlir import ir
from support.oracle.process import MpmdJob


def register(context: object) -> None:
    """Register the dialect in a context of MLIR."""
    import_module("jaxlib.mlir.dialects.mpmd").register_dialect(context)


def compiled(job: MpmdJob) -> str:
    """Return the printed module after a phase, in the current context. Raises: an error of jaxlib if Shardy fails."""
    parts = ("", ".mlir", "._jax", ".xla_client", ".mlir._mlir_libs")
    for part in parts:  # the extension looks its types up by these names
        sys.modules[f"jax.jaxlib{part}"] = import_module(f"jaxlib{part}")
    extension = import_module("jaxlib._sdy_mpmd")
    module = ir.Module.parse(job["text"])
    places = {name: tuple(place) if isinstance(place, list) else place for name, place in job["assignment"].items()}
    result = extension.apply_mpmd_partitioning(
        module,
        "main",
        [(name, [tuple(axis) for axis in axes]) for name, axes in job["meshes"]],
        places,
        job["inputs"],
        job["outputs"],
        [],  # donated inputs
        partitioning_options=job["options"],
        fragment_merge_rules=[],
        fragment_schedule_rules=[],
        phases=getattr(extension.PartitioningPhase, job["phase"]),
    )
    return str(result.mpmd_module)
