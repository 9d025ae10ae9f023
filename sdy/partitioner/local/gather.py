"""`gather` from a shard: a device finds what it holds, gives zeros for the rest, and an all-reduce follows.

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
from sdy.partitioner.emit.emitter import Emitter, identity_constant, ints, tensor_of, with_shape
from sdy.partitioner.local.index_shift import IndexedDim, for_each_index, index_ranges, wide_enough
from sdy.partitioner.local.lowering import LocalForm, Lowering
from sdy.partitioner.on_shards.combiners import COMBINER_OF_KIND, combining_body

FORMS = OpTable[LocalForm]()


@dataclass(frozen=True, slots=True)
class _Cut:
    """What of a gather's operand is cut: `found` dims are looked up by index, or at their first place, and all-reduced.

    `indexed` are all dims that indices are for, in their order.
    """

    found: tuple[int, ...]
    indexed: tuple[IndexedDim, ...]
    dims: tuple[IndexedDim, ...]
    mesh: Mesh


@FORMS.of(GatherOp)
def gather(op: GatherOp) -> LocalForm:
    """The same gather with the slice sizes of a shard; masked where a dim that it looks into is cut."""
    whole, sizes = shape_of(op.operand), ints_of(op.slice_sizes)
    numbers = op.dimension_numbers.data

    def lower(lowering: Lowering) -> None:
        if not lowering.is_sharded(op.operand):
            lowering.make_local(op.result, op)
            return
        cut = _cut_of(op, lowering, whole, sizes)
        local_sizes = [
            shard if size == full != 1 else size
            for size, full, shard in zip(sizes, whole, shape_of(op.operand), strict=True)
        ]
        emit = lowering.emitter(op)
        moved = _moved(emit, op, cut) if cut.found else _Moved(op.start_indices, None)
        is_sorted = op.indices_are_sorted if len(cut.indexed) == 1 or moved.mask is None else None
        gathered = emit.op(
            GatherOp,
            [op.operand, moved.indices],
            [lowering.local_type(op.result.type, lowering.sharding(op.result), op)],
            {
                "dimension_numbers": op.dimension_numbers,
                "slice_sizes": ints(local_sizes),
                "indices_are_sorted": is_sorted or FALSE,
            },
        )
        gathered.attributes.update(op.attributes)
        result: SSAValue = gathered.result
        if moved.mask is not None:
            result = _masked(emit, lowering.sharding(op.result), numbers, result, moved.mask)
        lowering.replace(op, result)

    return lower


def _cut_of(op: GatherOp, lowering: Lowering, whole: Sequence[int], sizes: Sequence[int]) -> _Cut:
    numbers, sharding = op.dimension_numbers.data, lowering.sharding(op.operand)
    assert sharding is not None  # cut
    found = tuple(
        dim
        for dim, size in enumerate(sizes)
        if size == 1 and dim not in numbers.operand_batching_dims and lowering.shard_count(op.operand, dim) > 1
    )
    dims = tuple(
        IndexedDim(size, shard, lowering.dim_axes(op.operand, dim) if dim in found else ())
        for dim, (size, shard) in enumerate(zip(whole, shape_of(op.operand), strict=True))
    )
    indexed = tuple(dims[dim] for dim in numbers.start_index_map)
    return _Cut(found, indexed, dims, lowering.mesh(sharding))


@dataclass(frozen=True, slots=True)
class _Moved:
    """Indices that count within the shard, and whether it holds what each asks for: as indices, or as a scalar."""

    indices: SSAValue
    mask: SSAValue | None


def _moved(emit: Emitter, op: GatherOp, cut: _Cut) -> _Moved:
    numbers = op.dimension_numbers.data
    indices: SSAValue = op.start_indices
    mask: SSAValue | None = None
    if any(dim in numbers.start_index_map for dim in cut.found):
        indices = wide_enough(emit, indices, cut.indexed)
        clamped = _clamped(emit, indices, cut.indexed, numbers.index_vector_dim)
        first, last = index_ranges(emit, cut.indexed, cut.mesh, indices)
        low = for_each_index(emit, first, indices, numbers.index_vector_dim)
        high = for_each_index(emit, last, indices, numbers.index_vector_dim)
        indices = emit.binary(SubtractOp, clamped, low)
        above = emit.compare(ComparisonDirection.GE, clamped, low)
        mask = emit.binary(AndOp, above, emit.compare(ComparisonDirection.LE, clamped, high))
    for dim in cut.found:
        if dim not in numbers.start_index_map:
            mask = _and_first(emit, mask, cut.dims[dim], cut.mesh)
    return _Moved(indices, mask)


def _and_first(emit: Emitter, mask: SSAValue | None, dim: IndexedDim, mesh: Mesh) -> SSAValue:
    """`mask`, and only where this device holds the first place along `dim`."""
    offset = emit.offset(dim.axes, mesh, dim.shard_size)
    is_first = emit.compare(ComparisonDirection.EQ, offset, emit.index(0))
    if mask is None:
        return is_first
    return emit.binary(AndOp, mask, emit.broadcast(is_first, tensor_of(mask)) if shape_of(mask) else is_first)


def _clamped(emit: Emitter, indices: SSAValue, dims: Sequence[IndexedDim], vector_dim: int) -> SSAValue:
    """The indices moved into the whole tensor, as `gather` does."""
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
    """`result`, with what changes no sum where the shard does not hold what an index asks for."""
    kind = sharding.unreduced_kind if sharding is not None and sharding.unreduced else ReductionKind.SUM
    tensor = tensor_of(result)
    if numbers.index_vector_dim < len(shape_of(mask)):
        mask = _all_along(emit, mask, numbers.index_vector_dim)
    batch_dims = [dim for dim in range(len(tensor.get_shape())) if dim not in numbers.offset_dims]
    spread = emit.broadcast(mask, tensor, batch_dims if shape_of(mask) else [])
    return emit.select(spread, result, identity_constant(emit, COMBINER_OF_KIND[kind], tensor))


def _all_along(emit: Emitter, mask: SSAValue, dim: int) -> SSAValue:
    """Whether the mask holds everywhere along `dim`."""
    true = emit.constant(TensorType(i1, []), [1])
    sizes = [size for place, size in enumerate(shape_of(mask)) if place != dim]
    properties = {"dimensions": DenseArrayBase.from_list(i64, [dim])}
    return emit.value(ReduceOp, [mask, true], with_shape(mask, sizes), dict(properties), [combining_body(AndOp, i1)])
