"""The global shapes and shardings of a program's arguments and results."""

from __future__ import annotations

from dataclasses import dataclass

from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding


@dataclass(frozen=True, slots=True)
class TensorPlacement:
    """The global shape of a tensor and its sharding on a mesh; replicated if the program does not specify one."""

    shape: tuple[int, ...]
    sharding: TensorSharding
    mesh: Mesh


@dataclass(frozen=True, slots=True)
class ProgramPlacement:
    """The placement of the arguments and results of the main function, and the mesh that it runs on."""

    mesh: Mesh
    arguments: tuple[TensorPlacement, ...]
    results: tuple[TensorPlacement, ...]
