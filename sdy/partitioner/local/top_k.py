"""Local form of `top_k`: along a sharded dim, the k largest elements of each shard are gathered and reduced to k.

The candidates are in shard order, sorted within each shard, and equal elements are in index order. The second `top_k`
therefore selects the first of equal elements, as the op on the global tensor does.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from sdy.dialects.chlo.structured import TopKOp
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.attributes.attrs import GatherDimensionNumbers, GatherDimensionNumbersAttr
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.dialects.stablehlo.gather_scatter import FALSE, GatherOp
from sdy.model.axis import AxisList
from sdy.partitioner.emit.collective_ops import all_gather_values
from sdy.partitioner.emit.device_position import shard_offset
from sdy.partitioner.emit.emitter import Emitter, ints, tensor_of, with_shape
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards
from sdy.partitioner.local.shard_checks import ShardChecks

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[None, [ShardChecks]]()


@CHECKS.of(TopKOp)
def check_top_k(op: TopKOp, checks: ShardChecks) -> None:
    """Check that k is so small that exchanging the candidates costs less than gathering the operand."""
    checks.check_on_shards(op)


@FORMS.of(TopKOp)
@of_shards
def top_k(op: TopKOp, lowering: Lowering) -> None:
    """Apply the op to the shard; along a sharded dim, apply it again to the gathered candidates of all shards."""
    last = len(shape_of(op.operand)) - 1
    axes = lowering.shardings.dim_axes(op.operand, last)
    if axes:
        lowering.replace(op, *_top_k_over_shards(lowering, op, axes))
        return
    lowering.make_results_local(op)


def _top_k_over_shards(lowering: Lowering, op: TopKOp, axes: AxisList) -> Sequence[SSAValue]:
    emit, common = lowering.emitter(op), lowering.shardings.mesh_of(op.operand)
    last = len(shape_of(op.operand)) - 1
    types = lowering.local_result_types(op)
    own = _largest(emit, op, op.operand, types)
    if op.indices.first_use is None:
        (values,) = all_gather_values(emit, [own.values], last, axes, common)
        return _largest(emit, op, values, types).results
    offset = shard_offset(emit, axes, common.mesh, shape_of(op.operand)[last])
    index_type = tensor_of(own.indices)
    index_offset = emit.broadcast(emit.convert(offset, index_type.element_type), index_type)
    candidates = [own.values, emit.binary(AddOp, own.indices, index_offset)]
    values, indices = all_gather_values(emit, candidates, last, axes, common)
    selected = _largest(emit, op, values, types)
    return selected.values, _take_along_last_dim(emit, indices, selected.indices)


def _largest(emit: Emitter, op: TopKOp, operand: SSAValue, types: Sequence[Attribute]) -> TopKOp:
    """Emit a `top_k` of `operand` with the k of `op`."""
    return emit.op(TopKOp, [operand], types, {"k": op.k})


def _take_along_last_dim(emit: Emitter, values: SSAValue, indices: SSAValue) -> SSAValue:
    """Return for each row of `values` the elements at the indices in the same row of `indices`, along the last dim."""
    batch, last = tuple(range(len(shape_of(values)) - 1)), len(shape_of(values)) - 1
    numbers = GatherDimensionNumbers(
        collapsed_slice_dims=(last,),
        operand_batching_dims=batch,
        start_indices_batching_dims=batch,
        start_index_map=(last,),
        index_vector_dim=last + 1,
    )
    properties: dict[str, Attribute] = {
        "dimension_numbers": GatherDimensionNumbersAttr(numbers),
        "slice_sizes": ints([1] * (last + 1)),
        "indices_are_sorted": FALSE,
    }
    return emit.value(GatherOp, [values, indices], with_shape(values, shape_of(indices)), properties)
