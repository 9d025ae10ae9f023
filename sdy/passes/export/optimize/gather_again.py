"""Gather a value a second time, if keeping it gathered between two uses exceeds the memory limit.

before  %1 = sdy.reshard %0 <@m, [{}, {}]>          after   %1 = sdy.reshard %0 <@m, [{}, {}]>
        stablehlo.dot_general %x, %1                        stablehlo.dot_general %x, %1
        ...                                                 ...
        stablehlo.dot_general %y, %1                        %2 = sdy.reshard %0 <@m, [{}, {}]>
                                                            stablehlo.dot_general %y, %2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from sdy.cost.executions import execution_counts
from sdy.cost.memory import peak
from sdy.dialects.ir.walk import ancestor_in, op_and_nested_ops
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.collectives import AllReduceOp
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sharded_types import local_type, tensor_bytes
from sdy.dialects.shardings import sharding_of
from sdy.model.axis_list import sharded_size
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.passes.rewriting.insertion import erase, insert

MOST_AGAIN = 256  # each costs a walk over the module


def local_peak(module: ModuleOp) -> int:
    """Return the peak bytes of one device, for a module on global tensors."""
    return peak(module, _Shards(module).bytes_of, is_compiled=False).bytes


class _Shards:
    """Sizes of shards, cached by type and sharding."""

    def __init__(self, module: ModuleOp) -> None:
        self._meshes = meshes_of(module)
        self._known: dict[tuple[Attribute, TensorSharding | None], int] = {}

    def bytes_of(self, value: SSAValue) -> int:
        """Return the bytes of one shard of a value; 0 for a sum that is scattered at once."""
        return 0 if self._is_scattered(value) else self._shard_bytes(value)

    def growth(self, reshard: ReshardOp) -> int:
        """Return the bytes that a gather adds to a shard, which are those that a device sends for it."""
        return self.bytes_of(reshard.result) - self.bytes_of(reshard.input)

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


class Relief(NamedTuple):
    """The peak bytes after some reshards were repeated, as `local_peak`, and the bytes that they send."""

    peak_bytes: int
    sent: int


def gather_again(module: ModuleOp, limit: float) -> Relief:
    """Repeat reshards that enlarge values until the peak is at most `limit` bytes, if that helps."""
    shards = _Shards(module)
    found, repeated = peak(module, shards.bytes_of, is_compiled=False), list[ReshardOp]()
    for _ in range(MOST_AGAIN):
        again = None if found.bytes <= limit or found.op is None else _relieve(found.op, shards)
        if again is None:
            break
        before, found = found, peak(module, shards.bytes_of, is_compiled=False)
        if found.bytes >= before.bytes:
            again.undo()
            found = before
            break
        repeated.append(again.second)
    if not repeated:
        return Relief(found.bytes, 0)
    times = execution_counts(module)
    return Relief(found.bytes, sum(times[each] * shards.growth(each) for each in repeated))


@dataclass(frozen=True, slots=True)
class _Again:
    """A reshard that was repeated."""

    first: ReshardOp
    second: ReshardOp

    def undo(self) -> None:
        self.second.result.replace_all_uses_with(self.first.result)
        erase(self.second)


def _relieve(op: Operation, shards: _Shards) -> _Again | None:
    """Repeat, after `op`, the gather of the largest value that is live across it; None if there is none."""
    block = op.parent
    assert block is not None  # the op is in a module
    positions = {each: number for number, each in enumerate(block.ops)}
    best: tuple[int, ReshardOp, list[Operation]] | None = None
    for reshard in block.ops:
        if not isinstance(reshard, ReshardOp) or positions[reshard] >= positions[op]:
            continue
        gain = shards.growth(reshard)
        users = {ancestor_in(block, use.operation) for use in reshard.result.uses}
        later = sorted((user for user in users if positions[user] > positions[op]), key=positions.__getitem__)
        if gain > 0 and later and op not in users and (best is None or gain > best[0]):
            best = gain, reshard, later
    if best is None:
        return None
    _, reshard, later = best
    again = insert(reshard.clone(), InsertPoint.before(later[0]), reshard.location)
    inside = {each for user in later for each in op_and_nested_ops(user)}
    reshard.result.replace_uses_with_if(again.result, lambda use: use.operation in inside)
    return _Again(reshard, again)
