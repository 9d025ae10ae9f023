"""The places of the values of a program of several meshes: devices of each mesh, shardings, and how values move."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.ir import SSAValue

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.op_location import located
from sdy.model.devices.placement import TensorPlacement
from sdy.model.devices.reshard_plan import ReshardPlan, reshard_plan
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.mpmd.dialect.attrs import CPU_SUFFIX, TopologyAttr
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.types import mesh_type


@dataclass(frozen=True)
class MeshLayout:
    """The meshes of a program, and the shardings of its values on them."""

    topology: TopologyAttr

    @cached_property
    def devices(self) -> dict[str, tuple[int, ...]]:
        """The devices of each mesh, in the order of the mesh: each mesh takes the next numbers.

        Only the mesh `X/cpu` has the devices of another one: it is the host of the mesh `X`.
        """
        found: dict[str, tuple[int, ...]] = {}
        first = 0
        for name, mesh in self.topology.data:
            if mesh.is_empty:
                continue  # stands for replicated values
            numbers = mesh.listed_devices() if mesh.axes else (0,)
            own = tuple(first + number for number in numbers)
            found[name] = found.get(name.removesuffix(CPU_SUFFIX), own) if name.endswith(CPU_SUFFIX) else own
            first = max(first, max(found[name]) + 1)
        return found

    def placement(self, value: SSAValue) -> TensorPlacement:
        """Return the sharding of a value on its mesh. Without one in the type, each device holds the full tensor."""
        found = mesh_type(value.type)
        mesh = self.topology.mesh(found.mesh)
        assert mesh is not None  # the types were verified
        sharding = found.sharding or fully_closed(found.mesh, found.get_num_dims())
        return TensorPlacement(found.get_shape(), sharding, mesh)

    def keeps_positions(self, transfer: TransferOp) -> bool:
        """Return whether each device sends its whole shard to the device at the same position of the other mesh."""
        source, target = self.placement(transfer.tensor), self.placement(transfer.result)
        same_sharding = replace(source.sharding, mesh="") == replace(target.sharding, mesh="")
        return source.mesh.axes == target.mesh.axes and same_sharding

    def plan(self, transfer: TransferOp) -> ReshardPlan:
        """Return the sends between devices that move a value. Raises: SdyError SDY-S080 if partial values differ."""
        source, target = (self._on_devices(value) for value in (transfer.tensor, transfer.result))
        try:
            return reshard_plan(source, target, transfer.source_type.get_shape())
        except SdyError as error:
            raise located(error, transfer) from error

    def _on_devices(self, value: SSAValue) -> TensorSharding:
        placement, name = self.placement(value), mesh_type(value.type).mesh
        return replace(placement.sharding, mesh=Mesh(placement.mesh.axes, self.devices[name]))
