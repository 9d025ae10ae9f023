"""Sliding windows on one shard: pooling whose windows tile each shard; convolutions, with the edges of neighbours.

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
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering
from sdy.partitioner.on_shards.shard_exchanges import can_exchange_results
from sdy.partitioner.on_shards.shard_windows import Halo, HaloAlong, PoolingOp, halos_of, tiles_shards

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()


@CHECKS.of(ops.ReduceWindowOp, ops.SelectAndScatterOp)
def tiles(op: PoolingOp) -> Check:
    """All tensors are cut alike, and along a cut dim no window reaches into another shard, but to its far end."""
    tensors = [*op.inputs] if isinstance(op, ops.ReduceWindowOp) else [op.operand, op.source]

    def check(lowering: Lowering) -> None:
        if not any(lowering.is_sharded(value) for value in (*tensors, *op.results)):
            return
        for value in tensors:
            lowering.check_operand_sharding(
                op, tuple(op.operands).index(value), lowering.sharding(op.results[0]), "its result"
            )
        for dim in range(len(shape_of(tensors[0]))):
            count = lowering.shard_count(tensors[0], dim)
            if count > 1 and not (tiles_shards(op, dim, count) or can_exchange_results(op, dim, count)):
                message = f"{op.name}: windows along dim {dim} of {tensors[0].type} reach over its {count} shards"
                hint = "reshard the operand so that the dim is whole on every device"
                raise SdyError(Diagnostic("SDY-L012", message, span_of(op), hint=hint))

    return check


@CHECKS.of(ops.ConvolutionOp)
def reaches_no_further_than_neighbours(op: ops.ConvolutionOp) -> Check:
    """The tensors agree; along cut spatial dims, windows end in the next shard."""
    return lambda lowering: lowering.check_on_shards(op)


def _halos(op: ops.ConvolutionOp, halo_along: HaloAlong, lowering: Lowering) -> list[tuple[int, Halo]]:
    """The cut spatial dims of the input, with what shards need of each other along them."""
    counts = ((dim, lowering.shard_count(op.lhs, dim)) for dim in op.dimension_numbers.data.input_spatial_dimensions)
    halos = ((dim, halo_along(dim, count)) for dim, count in counts if count > 1)
    return [(dim, halo) for dim, halo in halos if halo is not None]


@FORMS.of(ops.ConvolutionOp)
def convolution(op: ops.ConvolutionOp) -> LocalForm:
    """The same convolution of the shard and the edges of its neighbours, with as many groups as the shard has."""
    numbers, halo_along = op.dimension_numbers.data, halos_of(op)

    def lower(lowering: Lowering) -> None:
        for name, count, value, dim in (
            ("feature_group_count", op.feature_group_count, op.rhs, numbers.kernel_output_feature_dimension),
            ("batch_group_count", op.batch_group_count, op.lhs, numbers.input_batch_dimension),
        ):
            op.properties[name] = _own_groups(count, lowering.shard_count(value, dim))
        if any(lowering.is_sharded(value) for value in (op.lhs, op.rhs, op.result)):
            op.attributes.clear()
        halos = _halos(op, halo_along, lowering)
        if halos:  # last: the new operand does not tell how it is cut
            _add_halos(op, halos, lowering)
        lowering.make_local(op.result, op)

    return lower


def _add_halos(op: ops.ConvolutionOp, halos: list[tuple[int, Halo]], lowering: Lowering) -> None:
    """Let the op read the shard with its halos. Where the whole ends there is no neighbour: zeros come, as in padding.

    One dim after the other, so that the second halo has the corners in it.
    """
    sharding = lowering.sharding(op.lhs)
    assert sharding is not None  # it is cut
    value, emit, mesh = op.lhs, lowering.emitter(op), lowering.mesh(sharding)
    padding = [0] * (2 * len(op.dimension_numbers.data.input_spatial_dimensions))
    if op.padding is not None:
        padding = list(op.padding.get_ints())
    for dim, halo in halos:
        axes = sharding.dims[dim].axes
        size = shape_of(value)[dim]
        pieces = [emit.slice_along(value, dim, max(0, -halo.left), size - max(0, -halo.right))]
        if halo.left > 0:
            edge = emit.slice_along(value, dim, size - halo.left, size)
            pieces.insert(0, collective_permute(emit, edge, shift_pairs(axes, mesh, 1)))
        if halo.right > 0:
            edge = emit.slice_along(value, dim, 0, halo.right)
            pieces.append(collective_permute(emit, edge, shift_pairs(axes, mesh, -1)))
        value = emit.concatenate(pieces, dim) if len(pieces) > 1 else pieces[0]
        place = op.dimension_numbers.data.input_spatial_dimensions.index(dim)
        padding[2 * place : 2 * place + 2] = [0, 0]
    op.operands[0] = value
    op.padding = DenseElementsAttr.from_values(TensorType(i64, [len(padding) // 2, 2]), padding)


def _own_groups(groups: IntegerAttr, pieces: int) -> IntegerAttr:
    """How many groups one shard has, when a dim whose major part counts groups is cut into pieces."""
    count = groups.value.data
    return IntegerAttr(count // min(count, pieces), i64) if count > 1 else groups
