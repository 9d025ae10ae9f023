"""Running sums, products and extremes on one shard: those of the shard, and what all shards before it come to.

Each device gathers the totals of all shards, one element each.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.dialects.stablehlo.window import ReduceWindowOp
from sdy.partitioner.emit.collective_ops import all_gather_values
from sdy.partitioner.emit.emitter import Emitter, ints, tensor_of, with_shape
from sdy.partitioner.local.lowering import LocalForm, Lowering
from sdy.partitioner.on_shards.combiners import combiners_of
from sdy.partitioner.on_shards.shard_windows import Running, scan_direction

FORMS = OpTable[LocalForm]()


@FORMS.of(ReduceWindowOp)
def reduce_window(op: ReduceWindowOp) -> LocalForm:
    """The same windows in the shard; along cut dims that they run along, the totals of other shards are added."""
    ends = [scan_direction(op, dim) for dim in range(len(shape_of(op.inputs[0])))]

    def lower(lowering: Lowering) -> None:
        cut = [(dim, end) for dim, end in enumerate(ends) if end and lowering.shard_count(op.inputs[0], dim) > 1]
        if not cut:
            for result in tuple(op.results):
                lowering.make_local(result, op)
            return
        emit = lowering.emitter(op)
        values = _within_shard(emit, op, cut, lowering)
        for dim, end in cut:
            values = _with_other_shards(emit, op, values, dim, end, lowering)
        lowering.replace(op, *values)

    return lower


def _within_shard(
    emit: Emitter, op: ReduceWindowOp, cut: Sequence[tuple[int, Running]], lowering: Lowering
) -> Sequence[SSAValue]:
    """The op with windows as long as the shard."""
    assert op.padding is not None  # windows run along a dim
    windows, padding = list(ints_of(op.window_dimensions)), list(op.padding.get_ints())
    for dim, end in cut:
        windows[dim] = shape_of(op.inputs[0])[dim]
        padding[2 * dim + (end is Running.FROM_LAST)] = windows[dim] - 1
    properties = {
        **op.properties,
        "window_dimensions": ints(windows),
        "padding": DenseElementsAttr.from_values(TensorType(i64, [len(windows), 2]), padding),
    }
    types = [lowering.local_type(result.type, lowering.sharding(result), op) for result in op.results]
    local = emit.op(ReduceWindowOp, op.operands, types, properties, [op.body.clone()])
    local.attributes.update(op.attributes)
    return local.results


def _with_other_shards(
    emit: Emitter, op: ReduceWindowOp, values: Sequence[SSAValue], dim: int, end: Running, lowering: Lowering
) -> Sequence[SSAValue]:
    """What runs within the shard along `dim`, combined with all of the shards that come before it."""
    sharding, combiners = lowering.sharding(op.inputs[0]), combiners_of(op.body)
    assert sharding is not None  # cut
    assert combiners is not None  # checked
    axes, on = sharding.dims[dim].axes, lowering.on(sharding)
    last = shape_of(values[0])[dim] - 1 if end is Running.FROM_FIRST else 0
    totals = [emit.slice_along(value, dim, last, last + 1) for value in values]
    totals = all_gather_values(emit, totals, dim, axes, on)
    count = shape_of(totals[0])[dim]
    places = emit.constant(TensorType(i64, [count]), range(count))
    own = emit.broadcast(emit.offset(axes, on.mesh, 1), tensor_of(places))
    direction = ComparisonDirection.LT if end is Running.FROM_FIRST else ComparisonDirection.GT
    is_before = emit.compare(direction, places, own)
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
