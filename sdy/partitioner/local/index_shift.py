"""Conversion of indices into a global tensor to indices into one shard, for gather and scatter.

Source: docs/spec/06, 1.20 and 1.21, and 8.1 (G7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue

from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.elementwise import AddOp, MinimumOp, SubtractOp
from sdy.model.axis import AxisList
from sdy.model.mesh import Mesh
from sdy.partitioner.emit.device_position import shard_offset
from sdy.partitioner.emit.emitter import Emitter, tensor_of
from sdy.partitioner.on_shards.combiners import index_bounds


@dataclass(frozen=True, slots=True)
class IndexedDim:
    """A dim that a component of the index vectors addresses: its global size, its size in one shard, and its axes.

    Without axes, indices along the dim are not shifted. A shard with a margin starts that many elements earlier, and
    ends as many later.
    """

    size: int
    shard_size: int
    axes: AxisList
    margin: int = 0


def widened_indices(emit: Emitter, indices: SSAValue, dims: Sequence[IndexedDim]) -> SSAValue:
    """Return the indices in a type in which an index minus the start of a shard cannot wrap around into the shard.

    That is a type that represents every index of the dims and of their margins: their own type, or otherwise i64.
    """
    element_type = tensor_of(indices).element_type
    least, largest = index_bounds(element_type)
    if all(least <= -dim.margin and dim.size + dim.margin - 1 <= largest for dim in dims):
        return indices
    end = max(dim.size for dim in dims)  # is out of bounds for every dim, as all larger indices are
    if largest > index_bounds(i64)[1]:
        indices = emit.binary(MinimumOp, indices, emit.constant(tensor_of(indices), [end]))
    return emit.convert(indices, i64)


def lowest_indices(emit: Emitter, dims: Sequence[IndexedDim], mesh: Mesh, indices: SSAValue) -> list[SSAValue]:
    """Return for each dim the first index in the shard of this device or its margin, as scalars.

    They have the element type of `indices`, which are `widened_indices`.
    """
    element_type = tensor_of(indices).element_type
    return [_lowest_index(emit, dim, mesh, TensorType(element_type, [])) for dim in dims]


def index_ranges(
    emit: Emitter, dims: Sequence[IndexedDim], mesh: Mesh, indices: SSAValue
) -> tuple[list[SSAValue], list[SSAValue]]:
    """Return for each dim the first and the last index in the shard of this device, scalars as in `lowest_indices`."""
    scalar = TensorType(tensor_of(indices).element_type, [])
    first: list[SSAValue] = []
    last: list[SSAValue] = []
    for dim in dims:
        lowest = _lowest_index(emit, dim, mesh, scalar)
        extent = emit.constant(scalar, [(dim.shard_size if dim.axes else dim.size) - 1])
        first.append(lowest)
        last.append(emit.binary(AddOp, lowest, extent) if dim.axes else extent)
    return first, last


def _lowest_index(emit: Emitter, dim: IndexedDim, mesh: Mesh, scalar: TensorType[Attribute]) -> SSAValue:
    if not dim.axes:
        return emit.constant(scalar, [0])
    lowest = shard_offset(emit, dim.axes, mesh, dim.shard_size)
    if dim.margin:
        lowest = emit.binary(SubtractOp, lowest, emit.index(dim.margin))
    return emit.convert(lowest, scalar.element_type)


def broadcast_to_indices(emit: Emitter, per_dim: Sequence[SSAValue], indices: SSAValue, vector_dim: int) -> SSAValue:
    """Broadcast scalars, one per component of an index vector, to the shape of `indices`."""
    shape = shape_of(indices)
    if vector_dim >= len(shape) or shape[vector_dim] == 1:
        return emit.broadcast(per_dim[0], tensor_of(indices))
    vector = emit.concatenate([emit.reshape(each, [1]) for each in per_dim], 0)
    return emit.broadcast(vector, tensor_of(indices), [vector_dim])
