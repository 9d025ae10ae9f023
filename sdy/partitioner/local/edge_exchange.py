"""Emission of the exchange between the shards of a slice or a pad; positions outside the global tensor are filled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.model.axis import AxisList
from sdy.model.axis_on_mesh import replica_groups
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.device_position import own_entry, shard_offset
from sdy.partitioner.emit.emitter import Emitter, tensor_of, with_shape
from sdy.partitioner.emit.slices import slice_along, slice_at
from sdy.partitioner.on_shards.shard_spans import ExchangeSpan, ShardSlice


@dataclass(frozen=True, slots=True)
class ShardedDim:
    """A dim and the axes along which it is sharded."""

    dim: int
    axes: AxisList
    mesh: Mesh


def exchanged(
    emit: Emitter, value: SSAValue, sharded: ShardedDim, span: ExchangeSpan, filler: SSAValue | None
) -> SSAValue:
    """Return the shard of the result, given the shard `value` of the operand.

    Positions without an element hold the scalar `filler`, or zeros if there is none.
    """
    available = emit.concatenate(list(_available(emit, value, sharded, span)), sharded.dim)
    sizes = list(shape_of(value))
    sizes[sharded.dim] = span.length
    if len(set(span.starts)) == 1:
        result = slice_along(emit, available, sharded.dim, span.starts[0], span.starts[0] + span.length)
    else:
        starts = [emit.index(0) for _ in sizes]
        starts[sharded.dim] = own_entry(
            emit, [span.starts[index] for index in shard_coordinates(sharded.axes, sharded.mesh)]
        )
        result = slice_at(emit, available, starts, sizes)
    return result if filler is None or span.is_full else _filled(emit, result, sharded, span, filler)


def _available(emit: Emitter, value: SSAValue, sharded: ShardedDim, span: ExchangeSpan) -> Iterator[SSAValue]:
    """Yield the own slice and those received from others; zeros for slices next to each other that nobody requires."""
    for is_required, parts in groupby(span.slices, lambda part: part.distance == 0 or bool(part.pairs)):
        if is_required:
            yield from (_received(emit, value, sharded, part) for part in parts)
        else:
            sizes = list(shape_of(value))
            sizes[sharded.dim] = sum(part.length for part in parts)
            yield emit.constant(with_shape(value, sizes), [0])


def _received(emit: Emitter, value: SSAValue, sharded: ShardedDim, part: ShardSlice) -> SSAValue:
    own = slice_along(emit, value, sharded.dim, part.start, part.start + part.length)
    if not part.distance:
        return own
    groups = replica_groups(sharded.axes, sharded.mesh)
    return collective_permute(
        emit, own, [(group[sender], group[receiver]) for group in groups for sender, receiver in part.pairs]
    )


def _filled(emit: Emitter, value: SSAValue, sharded: ShardedDim, span: ExchangeSpan, filler: SSAValue) -> SSAValue:
    shard = shape_of(value)[sharded.dim]
    index_type = TensorType(i64, [shard])
    offset = shard_offset(emit, sharded.axes, sharded.mesh, shard)
    global_index = emit.binary(AddOp, emit.iota(index_type), emit.broadcast(offset, index_type))
    first = [(ComparisonDirection.GE, span.first)] if span.first > 0 else []
    end = [(ComparisonDirection.LT, span.end)] if span.end < span.length * len(span.starts) else []
    masks = [emit.compare(one, global_index, emit.broadcast(emit.index(at), index_type)) for one, at in first + end]
    inside = emit.broadcast(emit.all_of(masks), tensor_of(value), [sharded.dim])
    return emit.select(inside, value, emit.broadcast(filler, tensor_of(value)))
