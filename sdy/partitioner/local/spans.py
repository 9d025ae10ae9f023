"""Emitting what shards of a slice or a pad send each other; what is behind the ends of the whole is filled."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue

from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.elementwise import AddOp, AndOp
from sdy.dialects.stablehlo.shape import IotaOp
from sdy.model.axis import AxisList
from sdy.model.axis_on_mesh import replica_groups
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.emitter import Emitter, tensor_of
from sdy.partitioner.on_shards.shard_spans import Piece, Span


@dataclass(frozen=True, slots=True)
class CutDim:
    """A dim, and the axes that cut it."""

    dim: int
    axes: AxisList
    mesh: Mesh


def exchanged(emit: Emitter, value: SSAValue, cut: CutDim, span: Span, filling: SSAValue | None) -> SSAValue:
    """The shard of the result, of the shard `value`; around its elements the scalar `filling`, or zeros without one."""
    found = emit.concatenate([_piece(emit, value, cut, piece) for piece in span.pieces], cut.dim)
    sizes = list(shape_of(value))
    sizes[cut.dim] = span.length
    if len(set(span.starts)) == 1:
        result = emit.slice_along(found, cut.dim, span.starts[0], span.starts[0] + span.length)
    else:
        starts = [emit.index(0) for _ in sizes]
        starts[cut.dim] = emit.own_entry([span.starts[place] for place in shard_coordinates(cut.axes, cut.mesh)])
        result = emit.dynamic_slice(found, starts, sizes)
    return result if filling is None or span.is_full else _filled(emit, result, cut, span, filling)


def _piece(emit: Emitter, value: SSAValue, cut: CutDim, piece: Piece) -> SSAValue:
    own = emit.slice_along(value, cut.dim, piece.start, piece.start + piece.length)
    if not piece.distance:
        return own
    if not piece.pairs:
        return emit.constant(tensor_of(own), [0])
    groups = replica_groups(cut.axes, cut.mesh)
    return collective_permute(emit, own, [(group[one], group[other]) for group in groups for one, other in piece.pairs])


def _filled(emit: Emitter, value: SSAValue, cut: CutDim, span: Span, filling: SSAValue) -> SSAValue:
    shard = shape_of(value)[cut.dim]
    numbers = TensorType(i64, [shard])
    counted = emit.value(IotaOp, [], numbers, {"iota_dimension": IntegerAttr(0, i64)})
    own = emit.binary(AddOp, counted, emit.broadcast(emit.offset(cut.axes, cut.mesh, shard), numbers))
    begins = emit.compare(ComparisonDirection.GE, own, emit.broadcast(emit.index(span.first), numbers))
    ends = emit.compare(ComparisonDirection.LT, own, emit.broadcast(emit.index(span.end), numbers))
    inside = emit.broadcast(emit.binary(AndOp, begins, ends), tensor_of(value), [cut.dim])
    return emit.select(inside, value, emit.broadcast(filling, tensor_of(value)))
