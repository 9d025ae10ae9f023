"""Local forms of pooling, whose windows tile each shard, and of convolutions, with halos of neighboring shards.

Source: docs/spec/06, 1.16, 1.19 and 8.1 (G22).
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import window as ops
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.model.devices.device_shifts import shift_pairs
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.slices import slice_along
from sdy.partitioner.local.lowering import LocalForm, Lowering
from sdy.partitioner.local.shard_checks import LocalCheck, ShardChecks
from sdy.partitioner.on_shards.shard_exchanges import can_exchange_results
from sdy.partitioner.on_shards.shard_windows import Halo, HaloAlong, PoolingOp, halos_of, kernel_halos_of, tiles_shards

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[LocalCheck]()


@CHECKS.of(ops.ReduceWindowOp, ops.SelectAndScatterOp)
def check_pooling(op: PoolingOp) -> LocalCheck:
    """Check that all tensors are sharded alike, and that along sharded dims windows tile shards or are cumulative."""
    tensors = [*op.inputs] if isinstance(op, ops.ReduceWindowOp) else [op.operand, op.source]

    def check(checks: ShardChecks) -> None:
        if not any(checks.shardings.is_sharded(value) for value in (*tensors, *op.results)):
            return
        for value in tensors:
            checks.check_operand_sharding(
                op, tuple(op.operands).index(value), checks.shardings.of(op.results[0]), "its result"
            )
        for dim in range(len(shape_of(tensors[0]))):
            count = checks.shardings.shard_count(tensors[0], dim)
            if count > 1 and not (tiles_shards(op, dim, count) or can_exchange_results(op, dim, count)):
                message = (
                    f"{op.name}: windows along dim {dim} of {tensors[0].type} must each fit in one of its {count} "
                    "shards"
                )
                hint = "reshard the operand so that the dim is unsharded"
                raise SdyError(Diagnostic("SDY-L012", message, span_of(op), hint=hint))

    return check


@CHECKS.of(ops.ConvolutionOp)
def check_convolution(op: ops.ConvolutionOp) -> LocalCheck:
    """Check that the tensors agree and that windows along sharded spatial dims extend at most into the next shard."""
    return lambda checks: checks.check_on_shards(op)


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
    """Replace the input of the op by the shard with its halos.

    A device without a neighbor receives zeros, which equal the padding of the op. Dims are extended one after the
    other, so that the halo of a later dim includes the corners.
    """
    sharding = lowering.shardings.of(op.lhs)
    assert sharding is not None  # the input is sharded
    value, emit, mesh = op.lhs, lowering.emitter(op), lowering.shardings.mesh(sharding)
    padding = [0] * (2 * len(op.dimension_numbers.data.input_spatial_dimensions))
    if op.padding is not None:
        padding = list(op.padding.get_ints())
    for dim, halo in halos:
        axes = sharding.dims[dim].axes
        size = shape_of(value)[dim]
        parts = [slice_along(emit, value, dim, max(0, -halo.left), size - max(0, -halo.right))]
        if halo.left > 0:
            edge = slice_along(emit, value, dim, size - halo.left, size)
            parts.insert(0, collective_permute(emit, edge, shift_pairs(axes, mesh, 1)))
        if halo.right > 0:
            edge = slice_along(emit, value, dim, 0, halo.right)
            parts.append(collective_permute(emit, edge, shift_pairs(axes, mesh, -1)))
        value = emit.concatenate(parts, dim) if len(parts) > 1 else parts[0]
        spatial_index = op.dimension_numbers.data.input_spatial_dimensions.index(dim)
        padding[2 * spatial_index : 2 * spatial_index + 2] = [halo.low, halo.high]
    op.operands[0] = value
    op.padding = DenseElementsAttr.from_values(TensorType(i64, [len(padding) // 2, 2]), padding)


def _local_groups(groups: IntegerAttr, shards: int) -> IntegerAttr:
    """Return the number of groups in one shard, given the shard count of the dim whose major part are the groups."""
    count = groups.value.data
    return IntegerAttr(count // min(count, shards), i64) if count > 1 else groups
