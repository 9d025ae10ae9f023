# The edge to JAX, whose functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
"""The shardings that people use for a program on a mesh: data, FSDP, tensor, sequence, expert; and random ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from support.library_programs.program import LibraryProgram

Shape = tuple[int, ...]
Entries = list[tuple[str, ...]]
MESHES: dict[str, Shape] = {"8": (8,), "4x2": (4, 2), "2x2x2": (2, 2, 2)}
AXES = ("x", "y", "z")


def jax_mesh(name: str) -> Mesh:
    """Return a mesh of MESHES on the first devices of JAX."""
    sizes = MESHES[name]
    return Mesh(np.array(jax.devices()[: prod(sizes)]).reshape(sizes), AXES[: len(sizes)])


class _Placer:
    """Chooses the axes of each dim of a leaf; axes that do not divide a dim are left out."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.all: tuple[str, ...] = tuple(mesh.axis_names)
        self.major, self.last = self.all[:-1], self.all[-1:]

    def size(self, axes: Sequence[str]) -> int:
        """Return the number of shards along `axes`."""
        return prod(self.mesh.shape[axis] for axis in axes)

    def on_dims(self, shape: Shape, wanted: dict[int, tuple[str, ...]]) -> Entries:
        """Return the axes per dim, without those that do not divide it."""
        return [
            axes if (axes := wanted.get(dim, ())) and size % self.size(axes) == 0 else ()
            for dim, size in enumerate(shape)
        ]

    def batch(self, shape: Shape, axes: tuple[str, ...]) -> Entries:
        """Return the sharding of a leaf along its first dim."""
        return self.on_dims(shape, {0: axes})

    def largest_dim(self, shape: Shape) -> Entries:
        """Return the sharding of the largest dim that all axes divide."""
        dims = [dim for dim, size in enumerate(shape) if size and size % self.size(self.all) == 0]
        return self.on_dims(shape, {max(dims, key=lambda dim: shape[dim]): self.all} if dims else {})

    def last_dim(self, shape: Shape) -> Entries:
        """Return the sharding of the last dim along the last axis."""
        return self.on_dims(shape, {len(shape) - 1: self.last})

    def random(self, shape: Shape, random: Random) -> Entries:
        """Return a sharding along a random part of the axes, each on a random dim that it divides."""
        entries: Entries = [() for _ in shape]
        for axis in random.sample(self.all, random.randint(0, len(self.all))):
            fitting = [dim for dim, size in enumerate(shape) if size and size % self.size((*entries[dim], axis)) == 0]
            if fitting:
                dim = random.choice(fitting)
                entries[dim] = (*entries[dim], axis)
        return entries


Choice = Callable[[_Placer, Shape], Entries]


def _replicated(_: _Placer, shape: Shape) -> Entries:
    return [() for _ in shape]


def _sharded_batch(placer: _Placer, shape: Shape) -> Entries:
    return placer.batch(shape, placer.all)


def _batch_of_major(placer: _Placer, shape: Shape) -> Entries:
    return placer.batch(shape, placer.major)


def _sequence(placer: _Placer, shape: Shape) -> Entries:
    return placer.on_dims(shape, {0: placer.major, 1: placer.last})


def _experts(placer: _Placer, shape: Shape) -> Entries:
    return placer.on_dims(shape, {0: placer.last} if len(shape) > 2 else {})


# name: the shardings of the leaves of the state, and of those of the data
PLACEMENTS: dict[str, tuple[Choice, Choice]] = {
    "data": (_replicated, _sharded_batch),
    "fsdp": (_Placer.largest_dim, _sharded_batch),
    "tensor": (_Placer.last_dim, _batch_of_major),
    "sequence": (_replicated, _sequence),
    "expert": (_experts, _batch_of_major),
}
RANDOM = ("random 0", "random 1")


def placements_of(program: LibraryProgram) -> tuple[str, ...]:
    """Return the names of the placements of a program."""
    return (*(name for name in PLACEMENTS if name != "expert" or program.has_experts), *RANDOM)


def placed(program: LibraryProgram, mesh: Mesh, name: str, seed: str = "") -> tuple[Any, Any]:
    """Return the state and the data of a program on the devices of a mesh, in the placement `name`."""
    placer, random = _Placer(mesh), Random(f"{name} {seed} {mesh.shape}")

    def at_random(placer: _Placer, shape: Shape) -> Entries:
        return placer.random(shape, random)

    state, data = PLACEMENTS.get(name, (at_random, at_random))

    def put(choose: Choice, leaf: Any) -> Any:
        is_key = isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        entries = [() for _ in leaf.shape] if is_key else choose(placer, np.shape(leaf))
        return jax.device_put(leaf, NamedSharding(mesh, PartitionSpec(*(axes or None for axes in entries))))

    return (
        jax.tree.map(lambda leaf: put(state, leaf), program.state),
        jax.tree.map(lambda leaf: put(data, leaf), program.data),
    )
