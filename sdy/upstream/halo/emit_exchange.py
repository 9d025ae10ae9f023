"""Builder of the body of a manual computation that exchanges shards along dims.

Source: docs/spec/06, 3.3, 3.5, 3.8 and 8.3 (G61).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from sdy.dialects.stablehlo import elementwise
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.model.axis import AxisList
from sdy.model.devices.device_shifts import shift_pairs
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import device_stride
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.device_position import device_entry, device_number
from sdy.partitioner.emit.emitter import Emitter, tensor_of
from sdy.partitioner.emit.sharded_emitter import annotated, is_zero_constant, padded_with_interior
from sdy.partitioner.emit.slices import slice_at
from sdy.upstream.halo.plan import DimExchange


@dataclass(frozen=True, slots=True)
class Exchanger:
    """Emits exchanges. `sharding` is the sharding of the values in the body, along the axes that are not manual.

    `filler` is the value of positions without an element. Devices at the ends of a dim receive zeros from missing
    neighbors; if `fills_ends`, these zeros are replaced by the filler.
    """

    emit: Emitter
    mesh: Mesh
    sharding: TensorSharding
    filler: SSAValue
    fills_ends: bool

    def exchanged(self, value: SSAValue, plan: DimExchange) -> SSAValue:
        """Exchange shards along the dim of the plan, and return the slice that this device requires."""
        emit = self.emit
        shards = self._shards(value, plan)
        joined = annotated(emit.concatenate(shards, plan.dim), self.sharding) if len(shards) > 1 else value
        rank = len(shape_of(value))
        margin, gap = _at(plan.dim, plan.margin, rank), _at(plan.dim, plan.step - 1, rank)
        padded = padded_with_interior(emit, joined, self.filler, margin, margin, gap, self.sharding)
        start, zero = self._start(plan)
        starts = [start if dim == plan.dim else zero for dim in range(rank)]
        sizes = list(shape_of(value))
        sizes[plan.dim] = plan.part
        return annotated(slice_at(emit, padded, starts, sizes), self.sharding)

    def _shards(self, value: SSAValue, plan: DimExchange) -> list[SSAValue]:
        left = [(-hops, self.received(value, plan.axes, hops)) for hops in range(plan.left, 0, -1)]
        right = [(hops, self.received(value, plan.axes, -hops)) for hops in range(1, plan.right + 1)]
        if self.fills_ends and (left or right):
            index = shard_index(self.emit, plan.axes, self.mesh)
            left, right = (
                [(distance, self._filled(shard, index, distance, plan.count)) for distance, shard in side]
                for side in (left, right)
            )
        return [*(shard for _, shard in left), value, *(shard for _, shard in right)]

    def received(self, value: SSAValue, axes: AxisList, hops: int) -> SSAValue:
        """Return the shard that is `hops` shards to the left, zeros if there is none."""
        sharding = None if self.sharding.is_fully_replicated else self.sharding
        return annotated(collective_permute(self.emit, value, shift_pairs(axes, self.mesh, hops)), sharding)

    def _filled(self, shard: SSAValue, index: SSAValue, distance: int, count: int) -> SSAValue:
        """Return `shard`, received from the neighbor at `distance`, or the filler on devices without that neighbor."""
        emit = self.emit
        if distance < 0:
            exists = emit.compare(ComparisonDirection.GE, index, emit.index(-distance))
        else:
            exists = emit.compare(ComparisonDirection.LT, index, emit.index(count - distance))
        filling = annotated(emit.broadcast(self.filler, tensor_of(shard)), self.sharding)
        return annotated(emit.select(exists, shard, filling), self.sharding)

    def _start(self, plan: DimExchange) -> tuple[SSAValue, SSAValue]:
        """Return the start of this device's slice in the padded shards, and a zero."""
        emit = self.emit
        index = shard_index(emit, plan.axes, self.mesh)
        if plan.table is not None:
            start = emit.reshape(device_entry(emit, plan.table, i64, index), [])
            return start, emit.index(0)
        slope, offset = emit.index(plan.slope), emit.index(plan.offset)
        start = emit.binary(elementwise.AddOp, emit.binary(elementwise.MultiplyOp, index, slope), offset)
        zero = emit.index(0)
        return emit.binary(elementwise.MaximumOp, start, zero), zero


def make_exchanger(
    emit: Emitter, mesh: Mesh, sharding: TensorSharding, filler: SSAValue, outer_filler: SSAValue
) -> Exchanger:
    """Return an exchanger whose `filler` is the block argument for `outer_filler`."""
    return Exchanger(emit, mesh, sharding, filler, fills_ends=not is_zero_constant(outer_filler))


def shard_index(emit: Emitter, axes: AxisList, mesh: Mesh) -> SSAValue:
    """Return the index of this device's shard of a dim sharded along `axes`, as `tensor<i64>`."""
    number = device_number(emit)
    if mesh.device_ids:
        return emit.reshape(device_entry(emit, shard_coordinates(axes, mesh), i64, number), [])
    index: SSAValue | None = None
    for ref in axes:
        size = mesh.size_of(ref)
        coordinate = _coordinate(emit, number, device_stride(ref, mesh), size, mesh.device_count)
        if index is None:
            index = coordinate
        else:
            scaled = emit.binary(elementwise.MultiplyOp, index, emit.index(size))
            index = emit.binary(elementwise.AddOp, scaled, coordinate)
    return emit.index(0) if index is None else index


def _coordinate(emit: Emitter, number: SSAValue, stride: int, size: int, devices: int) -> SSAValue:
    if stride > 1:
        number = emit.binary(elementwise.DivideOp, number, emit.index(stride))
    if size < devices:
        number = emit.binary(elementwise.RemainderOp, number, emit.index(size))
    return number


def _at(dim: int, value: int, rank: int) -> Sequence[int]:
    return [value if index == dim else 0 for index in range(rank)]
