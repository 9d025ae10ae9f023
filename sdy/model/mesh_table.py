"""Resolution of mesh names, and the mesh that several shardings have in common.

Source: docs/spec/01, 3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding

MeshTable = Mapping[str, Mesh]  # the meshes of a module, by symbol name


def resolve_mesh(mesh: str | Mesh, meshes: MeshTable) -> Mesh | None:
    """Return the mesh that a name or an inlined mesh stands for; None if the name is not defined."""
    return meshes.get(mesh) if isinstance(mesh, str) else mesh


class CommonMesh(NamedTuple):
    """The mesh that several shardings share, and how the sharding that supplied it refers to it."""

    mesh: Mesh
    reference: str | Mesh


def common_mesh(
    shardings: Iterable[TensorSharding | None], meshes: MeshTable, *, ignore_device_order: bool = False
) -> CommonMesh | None:
    """Return the one mesh of all given shardings; None if they differ, or if there are none.

    Any mesh takes precedence over an empty one. Two names of equal meshes are compatible: the first is returned. With
    `ignore_device_order`, a mesh in identity order takes precedence. Shardings on unknown meshes are skipped.
    """
    candidate: CommonMesh | None = None
    for sharding in shardings:
        mesh = None if sharding is None else resolve_mesh(sharding.mesh, meshes)
        if sharding is None or mesh is None:
            continue
        if candidate is None or candidate.mesh.is_empty:
            candidate = CommonMesh(mesh, sharding.mesh)
        elif mesh.is_empty or mesh == candidate.mesh:
            continue
        elif not (ignore_device_order and mesh.same_axes(candidate.mesh)):
            return None
        elif not mesh.device_ids:
            candidate = CommonMesh(mesh, sharding.mesh)
    return candidate
