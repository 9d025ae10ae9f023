"""`scatter` into a shard: indices count within it, and partial results are combined by an all-reduce that follows.

Source: spec of local lowering, section 1.21 and 8.1 (G7, G16).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from sdy.dialects.op_table import OpTable
from sdy.dialects.stablehlo.elementwise import SubtractOp
from sdy.dialects.stablehlo.gather_scatter import FALSE, ScatterOp
from sdy.model.axis import AxisList
from sdy.model.axis_list import lists_overlap
from sdy.partitioner.combining_bodies import combiners_of
from sdy.partitioner.local.combining import identity
from sdy.partitioner.local.emitter import Emitter, shape_of, tensor_of
from sdy.partitioner.local.index_shift import IndexedDim, for_each_index, lowest_indices, wide_enough
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering
from sdy.partitioner.shard_rules import known_rule, single_places, with_whole

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()


@CHECKS.of(ScatterOp)
def agrees(op: ScatterOp) -> Check:
    """As the rule has it, but where updates cover a single place of a dim it may be cut, as in the reference.

    So no update is right along a dim that no index names: a pipeline sees to it that this one is whole.
    """

    def check(lowering: Lowering) -> None:
        rule = known_rule(op)
        if rule is not None:
            single = {*single_places(op, rule, only_indexed=False)}
            rule = with_whole(rule, {*rule.need_replication} - single)
        lowering.check_agreement(op, rule)

    return check


def _reduction_axes(op: ScatterOp, lowering: Lowering) -> AxisList:
    """The axes along which devices have different updates of the same shard."""
    sharding = lowering.sharding(op.inputs[0])
    own = () if sharding is None else tuple(axis for dim in sharding.dims for axis in dim.axes)
    update = op.updates[0]
    window_dims = op.scatter_dimension_numbers.data.update_window_dims
    return tuple(
        axis
        for dim in range(len(shape_of(update)))
        if dim not in window_dims
        for axis in lowering.dim_axes(update, dim)
        if not lists_overlap((axis,), own)
    )


@FORMS.of(ScatterOp)
def scatter(op: ScatterOp) -> LocalForm:
    """The same scatter with indices that count within the shard, into the input on the first of those devices alone
    that have different updates.
    """
    whole = shape_of(op.inputs[0])
    numbers = op.scatter_dimension_numbers.data

    def lower(lowering: Lowering) -> None:
        axes = _reduction_axes(op, lowering)
        indexed = [
            IndexedDim(whole[dim], shape_of(op.inputs[0])[dim], lowering.dim_axes(op.inputs[0], dim))
            for dim in numbers.scatter_dims_to_operand_dims
        ]
        is_indexed = any(dim.axes for dim in indexed)
        if not axes and not is_indexed:
            for result in tuple(op.results):
                lowering.make_local(result, op)
            return
        emit = lowering.emitter(op)
        inputs = _inputs_on_first(emit, op, axes, lowering) if axes else list(op.inputs)
        indices: SSAValue = _moved(emit, op, indexed, lowering) if is_indexed else op.scatter_indices
        local = emit.op(
            ScatterOp,
            [*inputs, indices, *op.updates],
            [lowering.local_type(result.type, lowering.sharding(result), op) for result in op.results],
            {
                "scatter_dimension_numbers": op.scatter_dimension_numbers,
                "indices_are_sorted": op.indices_are_sorted or FALSE,
                "unique_indices": op.unique_indices or FALSE,
            },
            [op.detach_region(op.update_computation)],
        )
        local.attributes.update(op.attributes)
        lowering.replace(op, *local.results)

    return lower


def _inputs_on_first(emit: Emitter, op: ScatterOp, axes: AxisList, lowering: Lowering) -> list[SSAValue]:
    """The inputs on the first device along `axes`, and what changes nothing on the others."""
    combiners = combiners_of(op.update_computation)
    assert combiners is not None  # else the rule reduces nothing
    sharding = lowering.sharding(op.updates[0])
    assert sharding is not None  # cut
    mesh = lowering.mesh(sharding)
    chosen: list[SSAValue] = []
    for value, combiner in zip(op.inputs, combiners, strict=True):
        tensor = tensor_of(value)
        nothing = emit.constant(TensorType(tensor.element_type, []), [identity(combiner, tensor.element_type)])
        mine = emit.is_first(axes, mesh, tensor)
        chosen.append(emit.select(mine, value, emit.broadcast(nothing, tensor)))
    return chosen


def _moved(emit: Emitter, op: ScatterOp, dims: Sequence[IndexedDim], lowering: Lowering) -> SSAValue:
    """The indices, counting within the shard: one that it does not hold is out of its range, and ignored."""
    sharding = lowering.sharding(op.inputs[0])
    assert sharding is not None  # some dim is cut
    indices = wide_enough(emit, op.scatter_indices, dims)
    lowest = lowest_indices(emit, dims, lowering.mesh(sharding), indices)
    vector_dim = op.scatter_dimension_numbers.data.index_vector_dim
    return emit.binary(SubtractOp, indices, for_each_index(emit, lowest, indices, vector_dim))
