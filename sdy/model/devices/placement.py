"""How the values at the boundary of a program lie on the devices."""

from __future__ import annotations

from dataclasses import dataclass

from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding


@dataclass(frozen=True, slots=True)
class TensorPlacement:
    """A tensor's whole shape, and its sharding on a mesh; replicated where the program says nothing."""

    shape: tuple[int, ...]
    sharding: TensorSharding
    mesh: Mesh


@dataclass(frozen=True, slots=True)
class ProgramPlacement:
    """The arguments and results of the main function, and the mesh that it runs on."""

    mesh: Mesh
    arguments: tuple[TensorPlacement, ...]
    results: tuple[TensorPlacement, ...]
