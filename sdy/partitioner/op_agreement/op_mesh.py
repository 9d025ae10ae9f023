"""Choice of the mesh of an op whose tensors refer to several meshes. Source: docs/spec/05, 1.11."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sdy.model.mesh import Mesh
from sdy.model.mesh_table import CommonMesh, MeshTable, common_mesh, resolve_mesh
from sdy.model.sharding import TensorSharding


def op_mesh(shardings: Sequence[TensorSharding | None], meshes: MeshTable) -> CommonMesh | None:
    """Return the mesh that most sharded tensors refer to, None if there is none or the meshes have different axes.

    Meshes may differ in the order of devices. In a tie, the mesh that reaches the count first wins.
    """
    common = common_mesh(shardings, meshes, ignore_device_order=True)
    if common is None or common.mesh.is_maximal:
        return None
    votes: Counter[str | Mesh] = Counter()
    best: str | Mesh | None = None
    for sharding in shardings:
        if sharding is not None and not sharding.is_fully_replicated:
            votes[sharding.mesh] += 1
            if best is None or votes[sharding.mesh] > votes[best]:
                best = sharding.mesh
    mesh = None if best is None else resolve_mesh(best, meshes)
    return common if best is None or mesh is None else CommonMesh(mesh, best)
