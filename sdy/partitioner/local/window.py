"""Local forms of pooling and of convolutions: windows of shards with the halos of neighboring shards.

Source: docs/spec/06, 1.16, 1.19 and 8.1 (G22).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import window as ops
from sdy.dialects.stablehlo.attributes.types import AnyTensor, shape_of
from sdy.model.axis import AxisList
from sdy.model.devices.tiling import shift_pairs
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.device_position import is_first_device, is_last_device
from sdy.partitioner.emit.emitter import Emitter, tensor_of
from sdy.partitioner.emit.sharded_emitter import is_zero_constant
from sdy.partitioner.emit.slices import slice_along
from sdy.partitioner.local.cumulative import cumulative_results
from sdy.partitioner.local.lowering import LocalForm, Lowering
from sdy.partitioner.local.shard_checks import ShardChecks
from sdy.partitioner.on_shards.shard_rules import can_run_on_shards
from sdy.partitioner.on_shards.shard_windows import (
    Halo,
    HaloAlong,
    halos_of,
    kernel_halos_of,
    pooling_halos_of,
    scan_direction,
    tiles_shards,
)

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[None, [ShardChecks]]()


@CHECKS.of(ops.ReduceWindowOp, ops.SelectAndScatterOp)
def check_pooling(op: ops.PoolingOp, checks: ShardChecks) -> None:
    """Check that all tensors are sharded alike, and that along sharded dims shards or their neighbors suffice."""
    tensors = [*op.inputs] if isinstance(op, ops.ReduceWindowOp) else [op.operand, op.source]
    if not any(checks.shardings.is_sharded(value) for value in (*tensors, *op.results)):
        return
    for value in tensors:
        checks.check_operand_sharding(
            op, tuple(op.operands).index(value), checks.shardings.of(op.results[0]), "its result"
        )
    for dim in range(len(shape_of(tensors[0]))):
        count = checks.shardings.shard_count(tensors[0], dim)
        if count > 1 and not _suffices(op, dim, count):
            message = (
                f"{op.name}: windows along dim {dim} of {tensors[0].type} must each fit in one of its {count} "
                "shards, or extend at most into the next one"
            )
            hint = "reshard the operand so that the dim is unsharded"
            raise SdyError(Diagnostic("SDY-L012", message, span_of(op), hint=hint))


def _suffices(op: ops.PoolingOp, dim: int, count: int) -> bool:
    """Return whether each of `count` shards has all elements that its windows require, or can receive them."""
    return can_run_on_shards(op, dim, count) if isinstance(op, ops.ReduceWindowOp) else tiles_shards(op, dim, count)


@FORMS.of(ops.ReduceWindowOp)
def reduce_window(op: ops.ReduceWindowOp) -> LocalForm:
    """Apply the op to the shard with its halos; along sharded dims of a cumulative op, combine the totals of shards."""
    directions = [scan_direction(op, dim) for dim in range(len(shape_of(op.inputs[0])))]
    halo_along = pooling_halos_of(op)

    def lower(lowering: Lowering) -> None:
        counts = [lowering.shardings.shard_count(op.inputs[0], dim) for dim in range(len(directions))]
        halos = [
            (dim, halo)
            for dim, count in enumerate(counts)
            if count > 1 and (halo := halo_along(dim, count)) is not None
        ]
        if halos:
            _add_pooling_halos(op, halos, lowering)
        scanned = [
            (dim, direction)
            for dim, (direction, count) in enumerate(zip(directions, counts, strict=True))
            if direction and count > 1
        ]
        if scanned:
            lowering.replace(op, *cumulative_results(op, scanned, lowering))
        else:
            lowering.make_results_local(op)

    return lower


@CHECKS.of(ops.ConvolutionOp)
def check_convolution(op: ops.ConvolutionOp, checks: ShardChecks) -> None:
    """Check that the tensors agree and that windows along sharded spatial dims extend at most into the next shard."""
    checks.check_on_shards(op)


class _Halos:
    """The halos of an op with global shapes: for shards of the windows, and for shards of the kernel."""

    def __init__(self, op: ops.ConvolutionOp) -> None:
        self._along: tuple[HaloAlong, HaloAlong] = halos_of(op), kernel_halos_of(op)

    def of_shards(self, op: ops.ConvolutionOp, lowering: Lowering) -> list[tuple[int, Halo]]:
        """Return the sharded spatial dims of the input with their halos."""
        numbers, shard_count = op.dimension_numbers.data, lowering.shardings.shard_count
        spatial = zip(numbers.input_spatial_dimensions, numbers.kernel_spatial_dimensions, strict=True)
        halos = (
            (dim, self._along[shard_count(op.rhs, kernel_dim) > 1](dim, count))
            for dim, kernel_dim in spatial
            if (count := shard_count(op.lhs, dim)) > 1
        )
        return [(dim, halo) for dim, halo in halos if halo is not None]


@FORMS.of(ops.ConvolutionOp)
def convolution(op: ops.ConvolutionOp) -> LocalForm:
    """Emit the convolution of the shard and its halos, with the local numbers of groups."""
    numbers, global_halos = op.dimension_numbers.data, _Halos(op)

    def lower(lowering: Lowering) -> None:
        for name, count, value, dim in (
            ("feature_group_count", op.feature_group_count, op.rhs, numbers.kernel_output_feature_dimension),
            ("batch_group_count", op.batch_group_count, op.lhs, numbers.input_batch_dimension),
        ):
            op.properties[name] = _local_groups(count, lowering.shardings.shard_count(value, dim))
        if any(lowering.shardings.is_sharded(value) for value in (op.lhs, op.rhs, op.result)):
            op.attributes.clear()
        halos = global_halos.of_shards(op, lowering)
        if halos:  # last: the new operand has no sharding
            _add_halos(op, halos, lowering)
        lowering.make_local(op.result, op)

    return lower


def _add_halos(op: ops.ConvolutionOp, halos: list[tuple[int, Halo]], lowering: Lowering) -> None:
    """Replace the input of the op by the shard with its halos; where these are zeros, they equal the padding of it."""
    sharding = lowering.shardings.of(op.lhs)
    assert sharding is not None  # the input is sharded
    spatial = op.dimension_numbers.data.input_spatial_dimensions
    op.operands[0] = with_halos(lowering.emitter(op), op.lhs, halos, sharding, lowering.shardings.mesh(sharding))
    op.padding = _padding(op.padding, len(spatial), [(spatial.index(dim), halo) for dim, halo in halos])


def _add_pooling_halos(op: ops.ReduceWindowOp, halos: list[tuple[int, Halo]], lowering: Lowering) -> None:
    """Replace the inputs of the op by the shards with their halos, in which its initial values are the padding."""
    sharding, emit = lowering.shardings.of(op.inputs[0]), lowering.emitter(op)
    assert sharding is not None  # the inputs are sharded
    mesh, rank = lowering.shardings.mesh(sharding), len(shape_of(op.inputs[0]))
    for index, (value, init) in enumerate(zip(tuple(op.inputs), op.init_values, strict=True)):
        filler = None if is_zero_constant(init) else init
        op.operands[index] = with_halos(emit, value, halos, sharding, mesh, filler)
    op.padding = _padding(op.padding, rank, halos)


def _padding(padding: DenseElementsAttr | None, count: int, halos: Sequence[tuple[int, Halo]]) -> DenseElementsAttr:
    """Return the padding of windows along `count` dims, where some dims have halos instead."""
    amounts = [0] * (2 * count) if padding is None else list(padding.get_ints())
    for dim, halo in halos:
        amounts[2 * dim : 2 * dim + 2] = [halo.low, halo.high]
    return DenseElementsAttr.from_values(TensorType(i64, [count, 2]), amounts)


def _local_groups(groups: IntegerAttr, shards: int) -> IntegerAttr:
    """Return the number of groups in one shard, given the shard count of the dim whose major part are the groups."""
    count = groups.value.data
    return IntegerAttr(count // min(count, shards), i64) if count > 1 else groups


IsAtEnd = Callable[[Emitter, AxisList, Mesh, AnyTensor], SSAValue]


def with_halos(
    emit: Emitter,
    value: SSAValue,
    halos: Sequence[tuple[int, Halo]],
    sharding: TensorSharding,
    mesh: Mesh,
    filler: SSAValue | None = None,
) -> SSAValue:
    """Return the shard `value` with its halos along some dims.

    A device without a neighbor has the scalar `filler` instead, or zeros if there is none. Dims are extended one after
    the other, so that the halo of a later dim includes the corners.
    """
    for dim, halo in halos:
        axes, size = sharding.dims[dim].axes, shape_of(value)[dim]
        parts = [slice_along(emit, value, dim, max(0, -halo.left), size - max(0, -halo.right))]
        if halo.left > 0:
            edge = slice_along(emit, value, dim, size - halo.left, size)
            received = collective_permute(emit, edge, shift_pairs(axes, mesh, 1))
            parts.insert(0, _filled(emit, received, filler, is_first_device, axes, mesh))
        if halo.right > 0:
            edge = slice_along(emit, value, dim, 0, halo.right)
            received = collective_permute(emit, edge, shift_pairs(axes, mesh, -1))
            parts.append(_filled(emit, received, filler, is_last_device, axes, mesh))
        value = emit.concatenate(parts, dim)
    return value


def _filled(
    emit: Emitter, received: SSAValue, filler: SSAValue | None, is_at_end: IsAtEnd, axes: AxisList, mesh: Mesh
) -> SSAValue:
    if filler is None:
        return received
    tensor = tensor_of(received)
    return emit.select(is_at_end(emit, axes, mesh, tensor), emit.broadcast(filler, tensor), received)
