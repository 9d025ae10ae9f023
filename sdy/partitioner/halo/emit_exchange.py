"""The body of a manual computation that exchanges shards along dims.

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
from sdy.partitioner.emit.emitter import Emitter, tensor_of
from sdy.partitioner.emit.sharded_emitter import annotated, is_zero_constant, padded_with_interior
from sdy.partitioner.halo.plan import DimExchange


@dataclass(frozen=True, slots=True)
class Exchanger:
    """Emits exchanges. `sharding` is what the values in the body keep of theirs: the axes that are not manual.

    `filler` is the value of positions that no element gets to. Devices at the ends of a dim receive zeros for
    neighbours that they do not have; where `fills_ends`, these are replaced by the filler.
    """

    emit: Emitter
    mesh: Mesh
    sharding: TensorSharding
    filler: SSAValue
    fills_ends: bool

    def exchanged(self, value: SSAValue, plan: DimExchange) -> SSAValue:
        """This device's part along the dim of the plan."""
        emit = self.emit
        pieces = self._pieces(value, plan)
        joined = annotated(emit.concatenate(pieces, plan.dim), self.sharding) if len(pieces) > 1 else value
        rank = len(shape_of(value))
        margin, gap = _at(plan.dim, plan.margin, rank), _at(plan.dim, plan.step - 1, rank)
        padded = padded_with_interior(emit, joined, self.filler, margin, margin, gap, self.sharding)
        start, zero = self._start(plan)
        starts = [start if dim == plan.dim else zero for dim in range(rank)]
        sizes = list(shape_of(value))
        sizes[plan.dim] = plan.part
        return annotated(emit.dynamic_slice(padded, starts, sizes), self.sharding)

    def _pieces(self, value: SSAValue, plan: DimExchange) -> list[SSAValue]:
        left = [(-hops, self.received(value, plan.axes, hops)) for hops in range(plan.left, 0, -1)]
        right = [(hops, self.received(value, plan.axes, -hops)) for hops in range(1, plan.right + 1)]
        if self.fills_ends and (left or right):
            index = shard_index(self.emit, plan.axes, self.mesh)
            left, right = (
                [(place, self._filled(piece, index, place, plan.count)) for place, piece in side]
                for side in (left, right)
            )
        return [*(piece for _, piece in left), value, *(piece for _, piece in right)]

    def received(self, value: SSAValue, axes: AxisList, hops: int) -> SSAValue:
        """The shard of the neighbour `hops` shards to the left; zeros where there is none."""
        sharding = None if self.sharding.is_fully_replicated else self.sharding
        return annotated(collective_permute(self.emit, value, shift_pairs(axes, self.mesh, hops)), sharding)

    def _filled(self, piece: SSAValue, index: SSAValue, place: int, count: int) -> SSAValue:
        """`piece`, from the neighbour at `place`, or the filler on devices that have no such neighbour."""
        emit = self.emit
        if place < 0:
            exists = emit.compare(ComparisonDirection.GE, index, emit.index(-place))
        else:
            exists = emit.compare(ComparisonDirection.LT, index, emit.index(count - place))
        filling = annotated(emit.broadcast(self.filler, tensor_of(piece)), self.sharding)
        return annotated(emit.select(exists, piece, filling), self.sharding)

    def _start(self, plan: DimExchange) -> tuple[SSAValue, SSAValue]:
        """Where this device's part begins in the padded shards, and a zero."""
        emit = self.emit
        index = shard_index(emit, plan.axes, self.mesh)
        if plan.table is not None:
            start = emit.reshape(emit.entry_of_device(plan.table, i64, index), [])
            return start, emit.index(0)
        slope, offset = emit.index(plan.slope), emit.index(plan.offset)
        start = emit.binary(elementwise.AddOp, emit.binary(elementwise.MultiplyOp, index, slope), offset)
        zero = emit.index(0)
        return emit.binary(elementwise.MaximumOp, start, zero), zero


def make_exchanger(
    emit: Emitter, mesh: Mesh, sharding: TensorSharding, filler: SSAValue, outer_filler: SSAValue
) -> Exchanger:
    """An exchanger whose `filler` stands for `outer_filler` inside of the body."""
    return Exchanger(emit, mesh, sharding, filler, fills_ends=not is_zero_constant(outer_filler))


def shard_index(emit: Emitter, axes: AxisList, mesh: Mesh) -> SSAValue:
    """Which shard of a dim cut by `axes` this device holds, as `tensor<i64>`."""
    number = emit.device_number()
    if mesh.device_ids:
        return emit.reshape(emit.entry_of_device(shard_coordinates(axes, mesh), i64, number), [])
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


def _coordinate(emit: Emitter, number: SSAValue, between: int, size: int, devices: int) -> SSAValue:
    if between > 1:
        number = emit.binary(elementwise.DivideOp, number, emit.index(between))
    if size < devices:
        number = emit.binary(elementwise.RemainderOp, number, emit.index(size))
    return number


def _at(dim: int, value: int, rank: int) -> Sequence[int]:
    return [value if place == dim else 0 for place in range(rank)]
