"""`top_k` on one shard: along a cut dim the k largest of each shard are gathered, and of these the k largest kept.

Shards come in order, each with its largest elements first and equal ones by their indices: so the second choice takes
of equal elements the first as well.
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
from sdy.partitioner.emit.emitter import Emitter, ints, tensor_of, with_shape
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()


@CHECKS.of(TopKOp)
def keeps_few(op: TopKOp) -> Check:
    """Along a cut dim, shards keep so few elements that exchanging them is worth it."""
    return lambda lowering: lowering.check_on_shards(op)


@FORMS.of(TopKOp)
def top_k(op: TopKOp) -> LocalForm:
    """The same op on the shard, and again on what all shards kept."""
    last = len(shape_of(op.operand)) - 1

    def lower(lowering: Lowering) -> None:
        axes = lowering.dim_axes(op.operand, last)
        if axes:
            lowering.replace(op, *_of_all_shards(lowering, op, axes))
            return
        for result in tuple(op.results):
            lowering.make_local(result, op)

    return lower


def _of_all_shards(lowering: Lowering, op: TopKOp, axes: AxisList) -> Sequence[SSAValue]:
    emit, sharding = lowering.emitter(op), lowering.sharding(op.operand)
    assert sharding is not None  # cut
    last = len(shape_of(op.operand)) - 1
    types = [lowering.local_type(result.type, lowering.sharding(result), op) for result in op.results]
    kept = _largest(emit, op, op.operand, types)
    if op.indices.first_use is None:
        (values,) = all_gather_values(emit, [kept.values], last, axes, lowering.on(sharding))
        return _largest(emit, op, values, types).results
    offset = emit.offset(axes, lowering.mesh(sharding), shape_of(op.operand)[last])
    indices = tensor_of(kept.indices)
    before = emit.broadcast(emit.convert(offset, indices.element_type), indices)
    candidates = [kept.values, emit.binary(AddOp, kept.indices, before)]
    values, places = all_gather_values(emit, candidates, last, axes, lowering.on(sharding))
    chosen = _largest(emit, op, values, types)
    return chosen.values, _looked_up(emit, places, chosen.indices)


def _largest(emit: Emitter, op: TopKOp, operand: SSAValue, types: Sequence[Attribute]) -> TopKOp:
    """The largest elements of `operand`, as many as `op` takes, and their places in it."""
    return emit.op(TopKOp, [operand], types, {"k": op.k})


def _looked_up(emit: Emitter, values: SSAValue, places: SSAValue) -> SSAValue:
    """Of each row the values at the places given for it, along the last dim."""
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
    return emit.value(GatherOp, [values, places], with_shape(values, shape_of(places)), properties)
