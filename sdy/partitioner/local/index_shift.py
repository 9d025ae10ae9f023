"""Conversion of indices into a global tensor to indices into one shard, for gather and scatter.

Source: docs/spec/06, 1.20 and 1.21, and 8.1 (G7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue

from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.model.axis import AxisList
from sdy.model.mesh import Mesh
from sdy.partitioner.emit.device_position import shard_offset
from sdy.partitioner.emit.emitter import Emitter, tensor_of
from sdy.partitioner.on_shards.combiners import extreme


@dataclass(frozen=True, slots=True)
class IndexedDim:
    """A dim that a component of the index vectors addresses: its global size, its size in one shard, and its axes.

    Without axes, indices along the dim are not shifted.
    """

    size: int
    shard_size: int
    axes: AxisList


def widened_indices(emit: Emitter, indices: SSAValue, dims: Sequence[IndexedDim]) -> SSAValue:
    """Return the indices, converted to i64 if their type cannot represent every index of the dims."""
    largest = extreme(tensor_of(indices).element_type, largest=True)
    assert isinstance(largest, int)  # indices are integers
    return indices if all(dim.size - 1 <= largest for dim in dims) else emit.convert(indices, i64)


def lowest_indices(emit: Emitter, dims: Sequence[IndexedDim], mesh: Mesh, indices: SSAValue) -> list[SSAValue]:
    """Return for each dim the first index in the shard of this device, a scalar of the element type of `indices`."""
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
    return emit.convert(shard_offset(emit, dim.axes, mesh, dim.shard_size), scalar.element_type)


def broadcast_to_indices(emit: Emitter, per_dim: Sequence[SSAValue], indices: SSAValue, vector_dim: int) -> SSAValue:
    """Broadcast scalars, one per component of an index vector, to the shape of `indices`."""
    shape = shape_of(indices)
    if vector_dim >= len(shape) or shape[vector_dim] == 1:
        return emit.broadcast(per_dim[0], tensor_of(indices))
    vector = emit.concatenate([emit.reshape(each, [1]) for each in per_dim], 0)
    return emit.broadcast(vector, tensor_of(indices), [vector_dim])
