"""Local form of `gather`: a device gathers what its shard holds and identity elements for the rest.

An all-reduce combines the results.

Source: docs/spec/06, 1.20 and 8.1 (G7, G8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i1, i64
from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.attributes.attrs import GatherDimensionNumbers
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.elementwise import AndOp, SubtractOp
from sdy.dialects.stablehlo.gather_scatter import FALSE, GatherOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.mesh import Mesh
from sdy.model.sharding import ReductionKind, TensorSharding
from sdy.partitioner.emit.device_position import shard_offset
from sdy.partitioner.emit.emitter import Emitter, identity_constant, ints, tensor_of, with_shape
from sdy.partitioner.local.index_shift import IndexedDim, broadcast_to_indices, index_ranges, widened_indices
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards
from sdy.partitioner.on_shards.combiners import COMBINER_OF_KIND, combining_body

FORMS = OpTable[LocalForm]()


@dataclass(frozen=True, slots=True)
class _ShardedOperand:
    """The sharded operand of a gather.

    Along the dims `masked`, a slice has one element, and only the device that holds it contributes to the all-reduce.
    `indexed` are the dims that index vectors address, in the order of their components; `dims` are all dims.
    """

    masked: tuple[int, ...]
    indexed: tuple[IndexedDim, ...]
    dims: tuple[IndexedDim, ...]
    mesh: Mesh


@FORMS.of(GatherOp)
@of_shards
def gather(op: GatherOp, lowering: Lowering) -> None:
    """Emit the gather with the slice sizes of a shard, and mask its result if a dim that it indexes is sharded."""
    global_shape, sizes = lowering.global_shape(op.operand), ints_of(op.slice_sizes)
    if not lowering.shardings.is_sharded(op.operand):
        lowering.make_local(op.result, op)
        return
    operand = _sharded_operand(op, lowering, global_shape, sizes)
    local_sizes = [
        shard if size == full != 1 else size
        for size, full, shard in zip(sizes, global_shape, shape_of(op.operand), strict=True)
    ]
    emit = lowering.emitter(op)
    indices, mask = _local_indices(emit, op, operand) if operand.masked else (op.start_indices, None)
    is_sorted = op.indices_are_sorted if len(operand.indexed) == 1 or mask is None else None
    gathered = emit.op(
        GatherOp,
        [op.operand, indices],
        [lowering.local_type(op.result.type, lowering.shardings.of(op.result), op)],
        {
            "dimension_numbers": op.dimension_numbers,
            "slice_sizes": ints(local_sizes),
            "indices_are_sorted": is_sorted or FALSE,
        },
    )
    gathered.attributes.update(op.attributes)
    result: SSAValue = gathered.result
    if mask is not None:
        result = _masked(emit, lowering.shardings.of(op.result), op.dimension_numbers.data, result, mask)
    lowering.replace(op, result)


def _sharded_operand(
    op: GatherOp, lowering: Lowering, global_shape: Sequence[int], sizes: Sequence[int]
) -> _ShardedOperand:
    numbers = op.dimension_numbers.data
    masked = tuple(
        dim
        for dim, size in enumerate(sizes)
        if size == 1
        and dim not in numbers.operand_batching_dims
        and lowering.shardings.shard_count(op.operand, dim) > 1
    )
    dims = tuple(
        IndexedDim(size, shard, lowering.shardings.dim_axes(op.operand, dim) if dim in masked else ())
        for dim, (size, shard) in enumerate(zip(global_shape, shape_of(op.operand), strict=True))
    )
    indexed = tuple(dims[dim] for dim in numbers.start_index_map)
    return _ShardedOperand(masked, indexed, dims, lowering.shardings.mesh_of(op.operand).mesh)


def _local_indices(emit: Emitter, op: GatherOp, operand: _ShardedOperand) -> tuple[SSAValue, SSAValue | None]:
    """Return indices into the shard, and a mask of those that it holds: in the shape of the indices, or a scalar."""
    numbers = op.dimension_numbers.data
    indices: SSAValue = op.start_indices
    mask: SSAValue | None = None
    if any(dim in numbers.start_index_map for dim in operand.masked):
        indices = widened_indices(emit, indices, operand.indexed)
        clamped = _clamped(emit, indices, operand.indexed, numbers.index_vector_dim)
        first, last = index_ranges(emit, operand.indexed, operand.mesh, indices)
        low = broadcast_to_indices(emit, first, indices, numbers.index_vector_dim)
        high = broadcast_to_indices(emit, last, indices, numbers.index_vector_dim)
        indices = emit.binary(SubtractOp, clamped, low)
        at_least_low = emit.compare(ComparisonDirection.GE, clamped, low)
        mask = emit.binary(AndOp, at_least_low, emit.compare(ComparisonDirection.LE, clamped, high))
    for dim in operand.masked:
        if dim not in numbers.start_index_map:
            mask = _and_holds_first(emit, mask, operand.dims[dim], operand.mesh)
    return indices, mask


def _and_holds_first(emit: Emitter, mask: SSAValue | None, dim: IndexedDim, mesh: Mesh) -> SSAValue:
    """Return `mask`, restricted to devices that hold index 0 along `dim`."""
    offset = shard_offset(emit, dim.axes, mesh, dim.shard_size)
    is_first = emit.compare(ComparisonDirection.EQ, offset, emit.index(0))
    if mask is None:
        return is_first
    return emit.binary(AndOp, mask, emit.broadcast(is_first, tensor_of(mask)) if shape_of(mask) else is_first)


def _clamped(emit: Emitter, indices: SSAValue, dims: Sequence[IndexedDim], vector_dim: int) -> SSAValue:
    """Clamp the indices to the bounds of the global tensor, as `gather` does."""
    tensor = tensor_of(indices)
    zero = emit.constant(tensor, [0])
    last = [dim.size - 1 for dim in dims]
    if vector_dim < len(tensor.get_shape()) and len(dims) > 1:
        vector = emit.constant(TensorType(tensor.element_type, [len(dims)]), last)
        return emit.clamp(zero, indices, emit.broadcast(vector, tensor, [vector_dim]))
    return emit.clamp(zero, indices, emit.constant(tensor, last))


def _masked(
    emit: Emitter, sharding: TensorSharding | None, numbers: GatherDimensionNumbers, result: SSAValue, mask: SSAValue
) -> SSAValue:
    """Replace the elements of `result` that the shard does not hold by the identity element."""
    kind = sharding.unreduced_kind if sharding is not None and sharding.unreduced else ReductionKind.SUM
    tensor = tensor_of(result)
    if numbers.index_vector_dim < len(shape_of(mask)):
        mask = _all_true_along(emit, mask, numbers.index_vector_dim)
    batch_dims = [dim for dim in range(len(tensor.get_shape())) if dim not in numbers.offset_dims]
    full_mask = emit.broadcast(mask, tensor, batch_dims if shape_of(mask) else [])
    return emit.select(full_mask, result, identity_constant(emit, COMBINER_OF_KIND[kind], tensor))


def _all_true_along(emit: Emitter, mask: SSAValue, dim: int) -> SSAValue:
    """Return the conjunction of the mask along `dim`."""
    sizes = [size for index, size in enumerate(shape_of(mask)) if index != dim]
    if emit.style.regroups_shards and shape_of(mask)[dim] == 1:  # the text of Shardy has a reduction
        return emit.reshape(mask, sizes)
    true = emit.constant(TensorType(i1, []), [1])
    properties = {"dimensions": DenseArrayBase.from_list(i64, [dim])}
    return emit.value(ReduceOp, [mask, true], with_shape(mask, sizes), dict(properties), [combining_body(AndOp, i1)])
