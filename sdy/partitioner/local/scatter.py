"""`scatter` into a shard: indices count within it, and partial results are combined by an all-reduce that follows.

An update that lies in several shards is written by each of them as far as it falls there, without communication.
Source: docs/spec/06, 1.21 and 8.1 (G7, G16).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.elementwise import SubtractOp
from sdy.dialects.stablehlo.gather_scatter import FALSE, ScatterOp
from sdy.model.axis import AxisList
from sdy.model.axis_list import lists_overlap
from sdy.partitioner.emit.emitter import Emitter, identity_constant, tensor_of, with_shape
from sdy.partitioner.local.index_shift import IndexedDim, for_each_index, lowest_indices, wide_enough
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering
from sdy.partitioner.on_shards.combiners import combiners_of
from sdy.partitioner.on_shards.shard_rules import known_rule, single_index_factors, with_need_replication
from sdy.partitioner.on_shards.shard_windows import window_dim_of_update

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
            single = {*single_index_factors(op, rule)}
            rule = with_need_replication(rule, {*rule.need_replication} - single)
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
    that have different updates; with room around the shard for what falls into others.
    """
    whole = shape_of(op.inputs[0])
    numbers = op.scatter_dimension_numbers.data

    def lower(lowering: Lowering) -> None:
        axes = _reduction_axes(op, lowering)
        shard, rooms = shape_of(op.inputs[0]), _rooms(op, lowering)
        indexed = [
            IndexedDim(whole[dim] + 2 * rooms[dim], shard[dim], lowering.dim_axes(op.inputs[0], dim))
            for dim in numbers.scatter_dims_to_operand_dims
        ]
        is_indexed = any(dim.axes for dim in indexed)
        if not axes and not is_indexed:
            for result in tuple(op.results):
                lowering.make_local(result, op)
            return
        emit = lowering.emitter(op)
        inputs = _inputs_on_first(emit, op, axes, lowering) if axes else list(op.inputs)
        indices: SSAValue = _moved(emit, op, indexed, rooms, lowering) if is_indexed else op.scatter_indices
        inputs = [_with_rooms(emit, value, rooms) for value in inputs]
        local = emit.op(
            ScatterOp,
            [*inputs, indices, *op.updates],
            [with_shape(result, shape_of(value)) for result, value in zip(op.results, inputs, strict=True)],
            {
                "scatter_dimension_numbers": op.scatter_dimension_numbers,
                "indices_are_sorted": op.indices_are_sorted or FALSE,
                "unique_indices": op.unique_indices or FALSE,
            },
            [op.detach_region(op.update_computation)],
        )
        local.attributes.update(op.attributes)
        results: list[SSAValue] = list(local.results)
        for dim, room in enumerate(rooms):
            results = [emit.slice_along(result, dim, room, room + shard[dim]) for result in results]
        lowering.replace(op, *results)

    return lower


def _rooms(op: ScatterOp, lowering: Lowering) -> list[int]:
    """Per dim of the input, by how much an update that falls into a shard may stick out of it."""
    rooms = [0] * len(shape_of(op.inputs[0]))
    for dim in op.scatter_dimension_numbers.data.scatter_dims_to_operand_dims:
        window = window_dim_of_update(op, dim)
        if window is not None and lowering.dim_axes(op.inputs[0], dim):
            rooms[dim] = max(0, shape_of(op.updates[0])[window] - 1)
    return rooms


def _with_rooms(emit: Emitter, value: SSAValue, rooms: Sequence[int]) -> SSAValue:
    if not any(rooms):
        return value
    filler = emit.constant(TensorType(tensor_of(value).element_type, []), [0])
    return emit.pad(value, filler, rooms, rooms)


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
        nothing = identity_constant(emit, combiner, TensorType(tensor.element_type, []))
        mine = emit.is_first(axes, mesh, tensor)
        chosen.append(emit.select(mine, value, emit.broadcast(nothing, tensor)))
    return chosen


def _moved(
    emit: Emitter, op: ScatterOp, dims: Sequence[IndexedDim], rooms: Sequence[int], lowering: Lowering
) -> SSAValue:
    """The indices, counting within the shard and its rooms: what does not touch it is out of range, or in a room."""
    sharding, numbers = lowering.sharding(op.inputs[0]), op.scatter_dimension_numbers.data
    assert sharding is not None  # some dim is cut
    indices = wide_enough(emit, op.scatter_indices, dims)
    lowest = lowest_indices(emit, dims, lowering.mesh(sharding), indices)
    for place, dim in enumerate(numbers.scatter_dims_to_operand_dims):
        if rooms[dim]:
            room = emit.constant(tensor_of(lowest[place]), [rooms[dim]])
            lowest[place] = emit.binary(SubtractOp, lowest[place], room)
    return emit.binary(SubtractOp, indices, for_each_index(emit, lowest, indices, numbers.index_vector_dim))
