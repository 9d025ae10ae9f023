"""Groups of devices that a collective gives by the axes of a mesh."""

from __future__ import annotations

from itertools import groupby, product

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from sdy.dialects.meshes import visible_meshes
from sdy.dialects.stablehlo.attributes.replica_groups import ReplicaGroupMeshAxes
from sdy.proof.offsets import Groups
from sdy.proof.relations import NotProvedError


def groups_along_axes(op: Operation, groups: ReplicaGroupMeshAxes) -> Groups:
    """Return the devices that differ along these axes only, in the order of the axes, the first one most major.

    Raises: NotProvedError if the groups use sub-axes, or a mesh that the module does not define.
    """
    name = groups.mesh.string_value() if isinstance(groups.mesh, SymbolRefAttr) else ""
    mesh = visible_meshes(op).get(name)
    if mesh is None or any(ref.sub_axis is not None or not mesh.has_axis(ref.name) for ref in groups.axes):
        raise NotProvedError("expected groups along full axes of a mesh of the module")
    names = [axis.name for axis in mesh.axes]
    inner = [names.index(ref.name) for ref in groups.axes]
    outer = [index for index in range(len(names)) if index not in inner]
    coordinates = product(*(range(axis.size) for axis in mesh.axes))
    places = zip(coordinates, mesh.devices(), strict=True)

    def group_of(place: tuple[tuple[int, ...], int]) -> list[int]:
        return [place[0][index] for index in outer]

    ordered = sorted(places, key=lambda place: (group_of(place), [place[0][index] for index in inner]))
    return tuple(tuple(device for _, device in members) for _, members in groupby(ordered, key=group_of))
