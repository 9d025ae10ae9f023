"""The peak memory of one device, of a module on global tensors with reshards."""

from __future__ import annotations

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
    return peak(module, _Shards(module).bytes_of, is_compiled=False)


class _Shards:
    """Sizes of shards, cached by type and sharding."""

    def __init__(self, module: ModuleOp) -> None:
        self._meshes = meshes_of(module)
        self._known: dict[tuple[Attribute, TensorSharding | None], int] = {}

    def bytes_of(self, value: SSAValue) -> int:
        """Return the bytes of one shard of a value; 0 for a sum that is scattered at once."""
        return 0 if self._is_scattered(value) else self._shard_bytes(value)

    def _is_scattered(self, value: SSAValue) -> bool:
        """Return whether an all-reduce and the reshard after it become a reduce-scatter."""
        reduction = value.owner
        if not isinstance(reduction, AllReduceOp):
            return False
        use = value.get_user_of_unique_use()
        if not isinstance(use, ReshardOp):
            return False
        mesh = resolve_mesh(reduction.out_sharding.data.mesh, self._meshes)
        assert mesh is not None  # verified
        parts = sharded_size(reduction.reduction_axes.data, mesh)
        return self._shard_bytes(use.result) * parts == self._shard_bytes(value)

    def _shard_bytes(self, value: SSAValue) -> int:
        key = value.type, sharding_of(value)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._bytes(*key)
        return found

    def _bytes(self, value_type: Attribute, sharding: TensorSharding | None) -> int:
        mesh = None if sharding is None else resolve_mesh(sharding.mesh, self._meshes)
        if sharding is None or mesh is None:
            return tensor_bytes(value_type)
        shard = local_type(value_type, sharding, mesh)
        return 0 if shard is None else tensor_bytes(shard)
