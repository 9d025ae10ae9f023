"""Lowers a JAX function: its StableHLO text with shardings, its trees, its devices, the lines it was written on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import jax
from jax.sharding import Mesh, NamedSharding

from sdy.frontends.jax.pytrees import Leaf, TreeSignature

R = TypeVar("R")
_PLACE = re.compile(r'"([^"]+)":(\d+):\d+')  # in a location as MLIR prints it; the first is the innermost call


@dataclass(frozen=True)
class Lowered(Generic[R]):
    """A call of a function, lowered. `places` has the Python line behind each op in program order, "" where unknown."""

    name: str
    text: str
    signature: TreeSignature[R]
    devices: tuple[jax.Device, ...]
    places: tuple[str, ...]


def lower(fn: Callable[..., R], args: tuple[object, ...], kwargs: Mapping[str, object]) -> Lowered[R]:
    """Lower a call of `fn`, which is jitted where it is not yet. Raises: whatever JAX raises where it cannot trace it."""
    jitted: Any = fn if hasattr(fn, "lower") else jax.jit(fn)
    lowered: jax.stages.Lowered = jitted.lower(*args, **kwargs)
    internals = _internals(lowered)
    signature = TreeSignature[R](
        lowered.in_tree,
        lowered.out_tree,
        tuple(Leaf(info.shape, info.dtype) for info in jax.tree.leaves(lowered.args_info)),
        tuple(Leaf(info.shape, info.dtype) for info in jax.tree.leaves(lowered.out_info)),
        frozenset(internals["kept_var_idx"]),
    )
    name = f"<{getattr(fn, '__name__', type(fn).__name__)}>"
    module: Any = lowered.compiler_ir("stablehlo")
    return Lowered(name, lowered.as_text(), signature, _devices(internals), tuple(_places(module.operation)))


def _internals(lowered: jax.stages.Lowered) -> dict[str, Any]:
    """What JAX knows of a lowering and tells nobody: which arguments are used, and on which devices it runs."""
    private: Any = lowered
    return private._lowering.compile_args


def _devices(internals: dict[str, Any]) -> tuple[jax.Device, ...]:
    """The devices in the order of their numbers in the program; none where no sharding names any."""
    shardings: list[Any] = [
        *internals["in_shardings"],
        *(sharding for sharding, _ in internals["intermediate_shardings"]),
        *internals["out_shardings"],
    ]
    meshes = [sharding.mesh for sharding in shardings if isinstance(sharding, NamedSharding)]
    for mesh in (*meshes, internals["context_mesh"]):
        if isinstance(mesh, Mesh) and mesh.size == internals["num_devices"]:
            return tuple(mesh.devices.flat)
    return ()


def _places(op: Any) -> Iterator[str]:
    """`file.py:line` of each op inside of `op`, in program order."""
    for region in op.regions:
        for block in region:
            for inner in block:
                found = _PLACE.search(str(inner.location))
                yield f"{Path(found[1]).name}:{found[2]}" if found else ""
                yield from _places(inner.operation)
