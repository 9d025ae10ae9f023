"""Local form of `scatter`: indices are relative to the shard, and an all-reduce combines partial results.

If an update overlaps several shards, each device writes the elements that are in its shard, without communication.
Source: docs/spec/06, 1.21 and 8.1 (G7, G16).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from sdy.dialects.facts.traits import combiners_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.elementwise import SubtractOp
from sdy.dialects.stablehlo.gather_scatter import FALSE, ScatterOp
from sdy.model.axis import AxisList
from sdy.model.axis_list import lists_overlap
from sdy.partitioner.emit.device_position import is_first_device
from sdy.partitioner.emit.emitter import Emitter, identity_constant, tensor_of, with_shape
from sdy.partitioner.emit.sharded_emitter import zero_scalar
from sdy.partitioner.emit.slices import slice_along
from sdy.partitioner.local.index_shift import IndexedDim, broadcast_to_indices, lowest_indices, widened_indices
from sdy.partitioner.local.lowering import LocalForm, Lowering
from sdy.partitioner.local.shard_checks import ShardChecks
from sdy.partitioner.on_shards.combiners import may_repeat
from sdy.partitioner.on_shards.shard_facts import unit_update_factors
from sdy.partitioner.on_shards.shard_rules import known_rule, with_need_replication
from sdy.partitioner.on_shards.shard_windows import dims_covered_from_zero, window_dim_of_update

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[None, [ShardChecks]]()


@CHECKS.of(ScatterOp)
def check_scatter(op: ScatterOp, checks: ShardChecks) -> None:
    """Check the tensors against the rule, but allow sharded dims along which an update has one element, as in Shardy.

    The local form is wrong along such a dim that no index addresses; the export pipeline leaves that dim unsharded.
    """
    rule = known_rule(op)
    if rule is not None:
        unit_factors = {*unit_update_factors(op, rule)}
        rule = with_need_replication(rule, {*rule.need_replication} - unit_factors)
    checks.check_agreement(op, rule)


def _reduction_axes(op: ScatterOp, lowering: Lowering) -> AxisList:
    """Return the axes along which devices have different updates of the same shard."""
    sharding = lowering.shardings.of(op.inputs[0])
    input_axes = () if sharding is None else tuple(axis for dim in sharding.dims for axis in dim.axes)
    update = op.updates[0]
    window_dims = op.scatter_dimension_numbers.data.update_window_dims
    return tuple(
        axis
        for dim in range(len(shape_of(update)))
        if dim not in window_dims
        for axis in lowering.shardings.dim_axes(update, dim)
        if not lists_overlap((axis,), input_axes)
    )


@FORMS.of(ScatterOp)
def scatter(op: ScatterOp) -> LocalForm:
    """Emit the scatter with indices relative to the shard.

    Of the devices that have different updates, only the first scatters into the input; the others start from identity
    elements, unless the input may be combined several times. The shard is padded by margins, which receive the elements
    of updates that belong to other shards. Along a dim that updates cover from index 0, each device has its part of
    them.
    """
    global_shape = shape_of(op.inputs[0])
    numbers, covered = op.scatter_dimension_numbers.data, dims_covered_from_zero(op)

    def lower(lowering: Lowering) -> None:
        axes = _reduction_axes(op, lowering)
        shard = shape_of(op.inputs[0])
        axes_of_dim = [
            () if dim in covered else lowering.shardings.dim_axes(op.inputs[0], dim) for dim in range(len(shard))
        ]
        margins = _margins(op, axes_of_dim)
        indexed = [
            IndexedDim(global_shape[dim], shard[dim], axes_of_dim[dim], margins[dim])
            for dim in numbers.scatter_dims_to_operand_dims
        ]
        is_indexed = any(dim.axes for dim in indexed)
        if not axes and not is_indexed:
            lowering.make_results_local(op)
            return
        emit = lowering.emitter(op)
        inputs = _inputs_on_first(emit, op, axes, lowering) if axes else list(op.inputs)
        indices: SSAValue = _local_indices(emit, op, indexed, lowering) if is_indexed else op.scatter_indices
        inputs = [_with_margins(emit, value, margins) for value in inputs]
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
        for dim, margin in enumerate(margins):
            results = [slice_along(emit, result, dim, margin, margin + shard[dim]) for result in results]
        lowering.replace(op, *results)

    return lower


def _margins(op: ScatterOp, axes_of_dim: Sequence[AxisList]) -> list[int]:
    """Return for each dim of the input how far an update that overlaps a shard may extend beyond it."""
    margins = [0] * len(shape_of(op.inputs[0]))
    for dim in op.scatter_dimension_numbers.data.scatter_dims_to_operand_dims:
        window = window_dim_of_update(op, dim)
        if window is not None and axes_of_dim[dim]:
            margins[dim] = max(0, shape_of(op.updates[0])[window] - 1)
    return margins


def _with_margins(emit: Emitter, value: SSAValue, margins: Sequence[int]) -> SSAValue:
    if not any(margins):
        return value
    return emit.pad(value, zero_scalar(emit, value), margins, margins)


def _inputs_on_first(emit: Emitter, op: ScatterOp, axes: AxisList, lowering: Lowering) -> list[SSAValue]:
    """Return the inputs on the first device along `axes` and identity elements on others, unless they may repeat."""
    combiners = combiners_of(op.update_computation.block)
    assert combiners is not None  # otherwise the rule has no reduction factor
    mesh = lowering.shardings.mesh_of(op.updates[0]).mesh
    selected: list[SSAValue] = []
    for value, combiner in zip(op.inputs, combiners, strict=True):
        if may_repeat(value, combiner):
            selected.append(value)
            continue
        tensor = tensor_of(value)
        neutral = identity_constant(emit, combiner, TensorType(tensor.element_type, []))
        is_first = is_first_device(emit, axes, mesh, tensor)
        selected.append(emit.select(is_first, value, emit.broadcast(neutral, tensor)))
    return selected


def _local_indices(emit: Emitter, op: ScatterOp, dims: Sequence[IndexedDim], lowering: Lowering) -> SSAValue:
    """Return the indices relative to the padded shard: updates that miss the shard are out of range or in a margin."""
    vector_dim = op.scatter_dimension_numbers.data.index_vector_dim
    indices = widened_indices(emit, op.scatter_indices, dims)
    lowest = lowest_indices(emit, dims, lowering.shardings.mesh_of(op.inputs[0]).mesh, indices)
    return emit.binary(SubtractOp, indices, broadcast_to_indices(emit, lowest, indices, vector_dim))
