"""The peak memory of one device, of a module on global tensors with reshards."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from sdy.cost.memory import peak
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.collectives import AllReduceOp
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sharded_types import local_type, tensor_bytes
from sdy.dialects.shardings import sharding_of
from sdy.model.axis_list import sharded_size
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import TensorSharding


def local_peak(module: ModuleOp) -> int:
    """Return the peak bytes of one device, for a module on global tensors."""
    meshes = meshes_of(module)

    @cache
    def shard_bytes(value_type: Attribute, sharding: TensorSharding | None) -> int:
        mesh = None if sharding is None else resolve_mesh(sharding.mesh, meshes)
        if sharding is None or mesh is None:
            return tensor_bytes(value_type)
        shard = local_type(value_type, sharding, mesh)
        return 0 if shard is None else tensor_bytes(shard)

    def bytes_of(value: SSAValue) -> int:
        """Return the bytes of one shard of a value; 0 for a sum of which the next reshard keeps a part."""
        size = shard_bytes(value.type, sharding_of(value))
        reduction = value.owner
        use = value.get_user_of_unique_use() if isinstance(reduction, AllReduceOp) else None
        if not isinstance(reduction, AllReduceOp) or not isinstance(use, ReshardOp):
            return size
        mesh = resolve_mesh(reduction.out_sharding.data.mesh, meshes)
        assert mesh is not None  # verified
        parts = sharded_size(reduction.reduction_axes.data, mesh)
        is_scattered = shard_bytes(use.result.type, sharding_of(use.result)) * parts == size
        return 0 if is_scattered else size

    return peak(module, bytes_of, is_compiled=False)
