"""Which mesh a sharding means, and which one several shardings share.

Source: docs/spec/01, 3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding

MeshTable = Mapping[str, Mesh]  # the meshes of a module, by symbol name


def resolve_mesh(mesh: str | Mesh, meshes: MeshTable) -> Mesh | None:
    """The mesh itself; None where its name is not known."""
    return meshes.get(mesh) if isinstance(mesh, str) else mesh


@dataclass(frozen=True, slots=True)
class CommonMesh:
    """The mesh that several shardings share, and how the sharding that supplied it refers to it."""

    mesh: Mesh
    reference: str | Mesh


def common_mesh(
    shardings: Iterable[TensorSharding | None], meshes: MeshTable, *, ignore_device_order: bool = False
) -> CommonMesh | None:
    """The one mesh of all shardings given; None where they differ, or where there are none.

    An empty mesh yields to any other. Two names of equal meshes are compatible: the first is kept. Where the order
    of devices is ignored, a mesh in the identity order wins. Shardings on unknown meshes are skipped.
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
