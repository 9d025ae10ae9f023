"""From indices into a whole tensor to indices into one shard of it, for gather and scatter.

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
from sdy.partitioner.emit.emitter import Emitter, tensor_of
from sdy.partitioner.on_shards.combiners import extreme


@dataclass(frozen=True, slots=True)
class IndexedDim:
    """A dim that a component of the indices is for: its size on all devices and on one, and the axes that cut it.

    No axes: indices along it stay as they are.
    """

    size: int
    shard_size: int
    axes: AxisList


def wide_enough(emit: Emitter, indices: SSAValue, dims: Sequence[IndexedDim]) -> SSAValue:
    """The indices, with 64 bits where their type does not hold every index of the dims."""
    largest = extreme(tensor_of(indices).element_type, largest=True)
    assert isinstance(largest, int)  # indices are integers
    return indices if all(dim.size - 1 <= largest for dim in dims) else emit.convert(indices, i64)


def lowest_indices(emit: Emitter, dims: Sequence[IndexedDim], mesh: Mesh, indices: SSAValue) -> list[SSAValue]:
    """Per dim the first index that this device's shard holds, a scalar of the indices' type."""
    element_type = tensor_of(indices).element_type
    return [_lowest(emit, dim, mesh, TensorType(element_type, [])) for dim in dims]


def index_ranges(
    emit: Emitter, dims: Sequence[IndexedDim], mesh: Mesh, indices: SSAValue
) -> tuple[list[SSAValue], list[SSAValue]]:
    """Per dim the first and the last index that this device's shard holds, scalars of the indices' type."""
    scalar = TensorType(tensor_of(indices).element_type, [])
    first: list[SSAValue] = []
    last: list[SSAValue] = []
    for dim in dims:
        begin = _lowest(emit, dim, mesh, scalar)
        extent = emit.constant(scalar, [(dim.shard_size if dim.axes else dim.size) - 1])
        first.append(begin)
        last.append(emit.binary(AddOp, begin, extent) if dim.axes else extent)
    return first, last


def _lowest(emit: Emitter, dim: IndexedDim, mesh: Mesh, scalar: TensorType[Attribute]) -> SSAValue:
    if not dim.axes:
        return emit.constant(scalar, [0])
    return emit.convert(emit.offset(dim.axes, mesh, dim.shard_size), scalar.element_type)


def for_each_index(emit: Emitter, per_dim: Sequence[SSAValue], indices: SSAValue, vector_dim: int) -> SSAValue:
    """Scalars, one per component of an index vector, repeated to the shape of the indices."""
    shape = shape_of(indices)
    if vector_dim >= len(shape) or shape[vector_dim] == 1:
        return emit.broadcast(per_dim[0], tensor_of(indices))
    vector = emit.concatenate([emit.reshape(each, [1]) for each in per_dim], 0)
    return emit.broadcast(vector, tensor_of(indices), [vector_dim])
