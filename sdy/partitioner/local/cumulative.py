"""Local forms of cumulative sums, products, minima and maxima, which are `reduce_window` ops.

Each device computes the cumulative op on its shard, gathers the totals of all shards, one element each, and combines
its results with the totals of the shards before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import combiners_of
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.dialects.stablehlo.window import ReduceWindowOp
from sdy.partitioner.emit.collective_ops import all_gather_values
from sdy.partitioner.emit.device_position import shard_offset
from sdy.partitioner.emit.emitter import Emitter, ints, tensor_of, with_shape
from sdy.partitioner.emit.slices import slice_along
from sdy.partitioner.local.lowering import Lowering
from sdy.partitioner.on_shards.shard_windows import ScanDirection


def cumulative_results(
    op: ReduceWindowOp, scanned: Sequence[tuple[int, ScanDirection]], lowering: Lowering
) -> Sequence[SSAValue]:
    """Return the results on shards along the dims `scanned`, which are dims with their directions."""
    emit = lowering.emitter(op)
    values = _within_shard(emit, op, scanned, lowering)
    for dim, direction in scanned:
        values = _with_other_shards(emit, op, values, dim, direction, lowering)
    return values


def _within_shard(
    emit: Emitter, op: ReduceWindowOp, scanned: Sequence[tuple[int, ScanDirection]], lowering: Lowering
) -> Sequence[SSAValue]:
    """Emit the op with windows as long as the shard along the dims `scanned`."""
    assert op.padding is not None  # a cumulative op has padding
    windows, padding = list(ints_of(op.window_dimensions)), list(op.padding.get_ints())
    for dim, direction in scanned:
        windows[dim] = shape_of(op.inputs[0])[dim]
        padding[2 * dim + (direction is ScanDirection.FROM_LAST)] = windows[dim] - 1
    properties = {
        **op.properties,
        "window_dimensions": ints(windows),
        "padding": DenseElementsAttr.from_values(TensorType(i64, [len(windows), 2]), padding),
    }
    types = lowering.local_result_types(op)
    local = emit.op(ReduceWindowOp, op.operands, types, properties, [op.body.clone()])
    local.attributes.update(op.attributes)
    return local.results


def _with_other_shards(
    emit: Emitter,
    op: ReduceWindowOp,
    values: Sequence[SSAValue],
    dim: int,
    direction: ScanDirection,
    lowering: Lowering,
) -> Sequence[SSAValue]:
    """Combine `values`, cumulative within the shard along `dim`, with the totals of the shards before it."""
    # The operand is sharded alike, but has halos if it is windowed along other dims.
    axes, common = lowering.shardings.dim_axes(op.results[0], dim), lowering.shardings.mesh_of(op.results[0])
    combiners = combiners_of(op.body.block)
    assert combiners is not None  # checked
    last = shape_of(values[0])[dim] - 1 if direction is ScanDirection.FROM_FIRST else 0
    totals = [slice_along(emit, value, dim, last, last + 1) for value in values]
    totals = all_gather_values(emit, totals, dim, axes, common)
    count = shape_of(totals[0])[dim]
    indices = emit.constant(TensorType(i64, [count]), range(count))
    own_index = emit.broadcast(shard_offset(emit, axes, common.mesh, 1), tensor_of(indices))
    comparison = ComparisonDirection.LT if direction is ScanDirection.FROM_FIRST else ComparisonDirection.GT
    is_before = emit.compare(comparison, indices, own_index)
    totals = [
        emit.select(emit.broadcast(is_before, tensor_of(total), [dim]), total, emit.broadcast(init, tensor_of(total)))
        for total, init in zip(totals, op.init_values, strict=True)
    ]
    kept = [other for other in range(len(shape_of(values[0]))) if other != dim]
    types = [with_shape(value, [shape_of(value)[other] for other in kept]) for value in values]
    properties = {"dimensions": ints([dim])}
    before = emit.op(ReduceOp, [*totals, *op.init_values], types, dict(properties), [op.body.clone()])
    return [
        emit.binary(combiner, emit.broadcast(sum_before, tensor_of(value), kept), value)
        for combiner, sum_before, value in zip(combiners, before.results, values, strict=True)
    ]
