"""Emission of a regrouping: devices send each other slices of their shards, and copy them into shards of the result."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from xdsl.ir import SSAValue

from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.slicing import DynamicUpdateSliceOp
from sdy.model.axis_on_mesh import replica_groups
from sdy.model.devices.tiling import shard_coordinates
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.device_position import device_index, device_number
from sdy.partitioner.emit.emitter import Emitter, tensor_of, with_shape
from sdy.partitioner.emit.slices import slice_along, slice_at
from sdy.partitioner.local.edge_exchange import ShardedDim
from sdy.partitioner.on_shards.regrouping import Permute, PerShard, Regrouping


class RegroupingEmitter:
    """Emits regroupings along a dim; `filler` is a scalar for positions without element, zero if there is none."""

    def __init__(self, emit: Emitter, sharded: ShardedDim, filler: SSAValue | None = None) -> None:
        self._emit = emit
        self._dim = sharded.dim
        self._coordinates = shard_coordinates(sharded.axes, sharded.mesh)
        self._groups = replica_groups(sharded.axes, sharded.mesh)
        self._number = device_number(emit)
        self._filler = filler

    def available(self, own: SSAValue, plans: Sequence[Regrouping]) -> SSAValue:
        """Return the own shards, concatenated, with what plans of the same permutes receive, and the filler."""
        plan = plans[0]
        slices = [own, *(self._permuted(own, permute) for permute in plan.permutes)]
        if plan.filled:
            slices.append(self._filled(own, plan.filled))
        length = plan.held + plan.received + plan.filled
        end_of_reads = max(max(copy.starts) + copy.length for each in plans for copy in each.copies)
        if end_of_reads > length:
            slices.append(self._zeros(own, end_of_reads - length))
        return self._emit.concatenate(slices, self._dim)

    def assembled(self, available: SSAValue, plan: Regrouping) -> SSAValue:
        """Return the shard of the result of a plan."""
        parts = (self._slice_at(available, copy.starts, copy.length) for copy in plan.copies)
        ends = [0, *accumulate(copy.length for copy in plan.copies)]
        if ends[-1] == plan.shard and [set(each.targets) for each in plan.copies] == [{end} for end in ends[:-1]]:
            return self._emit.concatenate(list(parts), self._dim)
        result = self._zeros(available, max(max(copy.targets) + copy.length for copy in plan.copies))
        for copy, part in zip(plan.copies, parts, strict=True):
            operands = [result, part, *self._starts(copy.targets, len(shape_of(result)))]
            result = self._emit.value(DynamicUpdateSliceOp, operands, result.type)
        return slice_along(self._emit, result, self._dim, 0, plan.shard)

    def _filled(self, like: SSAValue, length: int) -> SSAValue:
        zeros = self._zeros(like, length)
        return zeros if self._filler is None else self._emit.broadcast(self._filler, tensor_of(zeros))

    def _zeros(self, like: SSAValue, length: int) -> SSAValue:
        sizes = list(shape_of(like))
        sizes[self._dim] = length
        return self._emit.constant(with_shape(like, sizes), [0])

    def _permuted(self, own: SSAValue, permute: Permute) -> SSAValue:
        pairs = [(group[sender], group[receiver]) for group in self._groups for sender, receiver in permute.pairs]
        return collective_permute(self._emit, self._slice_at(own, permute.starts, permute.length), pairs)

    def _slice_at(self, value: SSAValue, starts: PerShard, length: int) -> SSAValue:
        """Return `length` elements of `value` along the dim, starting at the index of this device in `starts`."""
        sizes = list(shape_of(value))
        sizes[self._dim] = length
        return slice_at(self._emit, value, self._starts(starts, len(sizes)), sizes)

    def _starts(self, table: PerShard, rank: int) -> list[SSAValue]:
        starts = [self._emit.index(0) for _ in range(rank)]
        starts[self._dim] = device_index(self._emit, [table[index] for index in self._coordinates], self._number)
        return starts
