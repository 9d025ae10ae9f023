"""Local form of `concatenate`: along a sharded dim, devices exchange slices of their shards."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.slicing import ConcatenateOp, DynamicUpdateSliceOp
from sdy.model.axis import AxisList
from sdy.model.axis_on_mesh import replica_groups
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.device_position import device_entry, device_number
from sdy.partitioner.emit.emitter import Emitter, with_shape
from sdy.partitioner.emit.slices import slice_along, slice_at
from sdy.partitioner.local.lowering import LocalForm, Lowering
from sdy.partitioner.local.shard_checks import LocalCheck, ShardChecks
from sdy.partitioner.on_shards.regrouping import Permute, PerShard, Regrouping, ShardCopy, regrouping

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[LocalCheck]()


@CHECKS.of(ConcatenateOp)
def check_concatenate(op: ConcatenateOp) -> LocalCheck:
    """Check that all tensors are sharded alike along the concatenated dim and that few permutes exchange their slices.

    Without the style option `regroups_shards` they must be unsharded along it, as in Shardy.
    """

    def check(checks: ShardChecks) -> None:
        if checks.style.regroups_shards:
            checks.check_on_shards(op)
        else:
            checks.check_agreement(op)

    return check


@FORMS.of(ConcatenateOp)
def concatenate(op: ConcatenateOp) -> LocalForm:
    """Concatenate the shards, and send other devices the slices that they hold in the result."""
    dim = op.dimension.value.data
    sizes = tuple(shape_of(value)[dim] for value in op.inputs)

    def lower(lowering: Lowering) -> None:
        axes, sharding = lowering.shardings.dim_axes(op.result, dim), lowering.shardings.of(op.result)
        if not axes or sharding is None:
            lowering.make_local(op.result, op)
            return
        emitter = _RegroupingEmitter(lowering.emitter(op), dim, axes, lowering.shardings.mesh(sharding))
        count = lowering.shardings.shard_count(op.result, dim)
        lowering.replace(op, emitter.value(op.inputs, regrouping(sizes, count)))

    return lower


class _RegroupingEmitter:
    """Emits a regrouping along `dim`, which is sharded along `axes`."""

    def __init__(self, emit: Emitter, dim: int, axes: AxisList, mesh: Mesh) -> None:
        self._emit = emit
        self._dim = dim
        self._coordinates = shard_coordinates(axes, mesh)
        self._groups = replica_groups(axes, mesh)
        self._number = device_number(emit)

    def value(self, operands: Sequence[SSAValue], plan: Regrouping) -> SSAValue:
        """Return the shard of the result."""
        own = self._emit.concatenate(operands, self._dim)
        slices = [own, *(self._permuted(own, permute) for permute in plan.permutes)]
        length = plan.shard + plan.received
        end_of_reads = max(max(copy.starts) + copy.length for copy in plan.copies)
        if end_of_reads > length:
            slices.append(self._zeros(own, end_of_reads - length))
        available = self._emit.concatenate(slices, self._dim)
        result = self._zeros(own, max(max(copy.targets) + copy.length for copy in plan.copies))
        for copy in plan.copies:
            result = self._copied(result, available, copy)
        return slice_along(self._emit, result, self._dim, 0, plan.shard)

    def _zeros(self, like: SSAValue, length: int) -> SSAValue:
        sizes = list(shape_of(like))
        sizes[self._dim] = length
        return self._emit.constant(with_shape(like, sizes), [0])

    def _permuted(self, own: SSAValue, permute: Permute) -> SSAValue:
        pairs = [(group[sender], group[receiver]) for group in self._groups for sender, receiver in permute.pairs]
        return collective_permute(self._emit, self._slice_at(own, permute.starts, permute.length), pairs)

    def _copied(self, result: SSAValue, available: SSAValue, copy: ShardCopy) -> SSAValue:
        slice_ = self._slice_at(available, copy.starts, copy.length)
        operands = [result, slice_, *self._starts(copy.targets, len(shape_of(result)))]
        return self._emit.value(DynamicUpdateSliceOp, operands, result.type)

    def _slice_at(self, value: SSAValue, starts: PerShard, length: int) -> SSAValue:
        """Return `length` elements of `value` along the dim, starting at the index of this device in `starts`."""
        sizes = list(shape_of(value))
        sizes[self._dim] = length
        return slice_at(self._emit, value, self._starts(starts, len(sizes)), sizes)

    def _starts(self, table: PerShard, rank: int) -> list[SSAValue]:
        starts = [self._emit.index(0) for _ in range(rank)]
        if len(set(table)) == 1:
            starts[self._dim] = self._emit.index(table[0])
        else:
            per_device = [table[index] for index in self._coordinates]
            entry = device_entry(self._emit, per_device, i64, self._number)
            starts[self._dim] = self._emit.reshape(entry, [])
        return starts
