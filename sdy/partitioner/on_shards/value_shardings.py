"""The shardings of the values of a module together with their meshes: axes, shard counts and layouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue

from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import sharding_of
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.collective import AxesPerDim
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import CommonMesh, MeshTable, resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.partitioner.on_shards.agreement import ShardedLayout


@dataclass(frozen=True, slots=True)
class ValueShardings:
    """Answers questions about the shardings of values of one verified module.

    `read` returns the sharding of a value, None if it has none.
    """

    meshes: MeshTable
    read: Callable[[SSAValue], TensorSharding | None] = sharding_of

    def of(self, value: SSAValue) -> TensorSharding | None:
        """Return the sharding of `value`, None if it has none."""
        return self.read(value)

    def mesh(self, sharding: TensorSharding) -> Mesh:
        """Return the mesh that `sharding` refers to."""
        mesh = resolve_mesh(sharding.mesh, self.meshes)
        assert mesh is not None  # verified
        return mesh

    def common_mesh(self, sharding: TensorSharding) -> CommonMesh:
        """Return the mesh of `sharding` together with the way in which `sharding` refers to it."""
        return CommonMesh(self.mesh(sharding), sharding.mesh)

    def mesh_of(self, value: SSAValue) -> CommonMesh:
        """Return the mesh of `value`, which has a sharding, together with the way in which that refers to it."""
        sharding = self.of(value)
        assert sharding is not None
        return self.common_mesh(sharding)

    def axes_per_dim(self, value: SSAValue) -> AxesPerDim:
        """Return the axes along which each dim of `value` is sharded, major first."""
        sharding = self.of(value)
        if sharding is None or not sharding.dims:
            return ((),) * rank_of_type(value.type)
        return tuple(dim.axes for dim in sharding.dims)

    def dim_axes(self, value: SSAValue, dim: int) -> AxisList:
        """Return the axes along which `dim` of `value` is sharded, major first."""
        sharding = self.of(value)
        return sharding.dims[dim].axes if sharding is not None and sharding.dims else ()

    def shard_count(self, value: SSAValue, dim: int) -> int:
        """Return the number of shards along `dim` of `value`; 1 if the dim is not sharded."""
        sharding = self.of(value)
        return 1 if sharding is None else sharded_size(self.dim_axes(value, dim), self.mesh(sharding))

    def shard_counts(self, value: SSAValue) -> list[int]:
        """Return the number of shards along each dim of `value`."""
        sharding = self.of(value)
        if sharding is None or not sharding.dims:
            return [1] * rank_of_type(value.type)
        mesh = self.mesh(sharding)
        return [sharded_size(dim.axes, mesh) for dim in sharding.dims]

    def is_sharded(self, value: SSAValue) -> bool:
        """Return whether some dim of `value` is sharded."""
        sharding = self.of(value)
        return sharding is not None and not sharding.is_fully_replicated

    def layout(self, sharding: TensorSharding | None) -> ShardedLayout | None:
        """Return the layout of a tensor with `sharding`, None if every device holds the full tensor."""
        if sharding is None or sharding.is_fully_replicated:
            return None
        return ShardedLayout(sharding, self.mesh(sharding))
