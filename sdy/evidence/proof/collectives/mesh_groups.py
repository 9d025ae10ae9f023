"""Groups of devices that differ in their places along axes of a mesh only."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from sdy.dialects.meshes import visible_meshes
from sdy.dialects.stablehlo.attributes.replica_groups import ReplicaGroupMeshAxes
from sdy.evidence.proof.offsets import Groups
from sdy.evidence.proof.relations import NotProvedError
from sdy.model.axis import AxisList, AxisRef
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import digit_of


def groups_of_axes(op: Operation, groups: ReplicaGroupMeshAxes) -> Groups:
    """Return the groups that a collective gives by axes of a mesh.

    Raises: NotProvedError if the groups use sub-axes, or a mesh that the module does not define.
    """
    name = groups.mesh.string_value() if isinstance(groups.mesh, SymbolRefAttr) else ""
    mesh = visible_meshes(op).get(name)
    if mesh is None or any(ref.sub_axis is not None or not mesh.has_axis(ref.name) for ref in groups.axes):
        raise NotProvedError("expected groups along full axes of a mesh of the module")
    return groups_along(tuple(AxisRef(ref.name) for ref in groups.axes), mesh)


@lru_cache(maxsize=4096)
def groups_along(axes: AxisList, mesh: Mesh) -> Groups:
    """Return groups of devices that differ in their coordinates along axes only, in the order of these."""
    coordinates = shard_coordinates(axes, mesh)
    groups: dict[object, list[int]] = {}
    digits = [digit_of(ref, mesh) for ref in axes]
    position_of = {device: position for position, device in enumerate(mesh.listed_devices())}
    for device in range(mesh.device_count):
        position = position_of[device]
        rest = position - sum(digit.of(position) * digit.stride for digit in digits)
        groups.setdefault(rest, []).append(device)
    return tuple(tuple(sorted(group, key=lambda device: coordinates[device])) for group in groups.values())
