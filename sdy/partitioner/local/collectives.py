"""Local forms of the collectives of `sdy`: collectives of StableHLO. Source: docs/spec/06, 1.6 to 1.11 and 8.1 G11."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy import collectives as ops
from sdy.dialects.stablehlo.attributes.types import AnyTensor, as_tensor, shape_of
from sdy.dialects.stablehlo.slicing import DynamicUpdateSliceOp
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.collective import AllToAllParam, AxesPerDim
from sdy.model.devices.tiling import source_target_pairs
from sdy.model.mesh_table import CommonMesh
from sdy.model.sharding import ReductionKind, TensorSharding
from sdy.partitioner.emit import collective_ops as emit_collectives
from sdy.partitioner.emit.device_position import is_first_device, own_shard, shard_offsets
from sdy.partitioner.emit.emitter import Emitter, identity_constant, tensor_of, with_shape
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards
from sdy.partitioner.local.shard_checks import ShardChecks, check_nothing
from sdy.partitioner.on_shards.combiners import COMBINER_OF_KIND

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[None, [ShardChecks]]()


# The verifier has checked their shardings.
CHECKS.of(
    ops.AllGatherOp,
    ops.AllReduceOp,
    ops.AllSliceOp,
    ops.AllToAllOp,
    ops.CollectivePermuteOp,
    ops.ReduceScatterOp,
    ops.ReplicatedToUnreducedOp,
    ops.ShardedToUnreducedOp,
)(check_nothing)


def unless_empty(op: ops.CollectiveOp, form: LocalForm) -> LocalForm:
    """Return the form of a collective, which is an empty constant where the shards of its result have no elements.

    StableHLO does not allow an all-gather along a dim of size zero.
    """

    def lower(lowering: Lowering) -> None:
        tensor = as_tensor(lowering.local_type(op.result.type, op.out_sharding.data, op))
        if tensor is not None and 0 in tensor.get_shape():
            lowering.replace(op, lowering.emitter(op).constant(tensor, []))
        else:
            form(lowering)

    return lower


@FORMS.of(ops.AllGatherOp)
@of_shards
def all_gather(op: ops.AllGatherOp, lowering: Lowering) -> None:
    """Emit one all-gather, for several dims along a new leading dim that is then transposed into them.

    With the style option `gathers_dim_by_dim`, emit one all-gather per dim.
    """
    axes, emit = op.gathering_axes.data, lowering.emitter(op)
    common = lowering.shardings.common_mesh(op.out_sharding.data)
    dims = [dim for dim, own in enumerate(axes) if own]
    gathered: SSAValue = op.tensor
    if len(dims) > 1 and not emit.style.gathers_dim_by_dim:
        gathered = _gather_dims(emit, gathered, axes, common)
    else:
        for dim in reversed(dims):
            gathered = emit_collectives.all_gather(emit, gathered, dim, axes[dim], common)
    lowering.replace(op, gathered)


def _gather_dims(emit: Emitter, value: SSAValue, axes: AxesPerDim, common: CommonMesh) -> SSAValue:
    sizes = shape_of(value)
    counts = [sharded_size(own, common.mesh) for own in axes]
    gathered_dims = [dim for dim, own in enumerate(axes) if own]
    stacked = emit_collectives.all_gather(emit, emit.reshape(value, [1, *sizes]), 0, _joined(axes), common)
    unstacked = emit.reshape(stacked, [*(counts[dim] for dim in gathered_dims), *sizes])
    order: list[int] = []
    for dim in range(len(sizes)):
        if dim in gathered_dims:
            order.append(gathered_dims.index(dim))
        order.append(dim + len(gathered_dims))
    return emit.reshape(
        emit.transpose(unstacked, order), [size * count for size, count in zip(sizes, counts, strict=True)]
    )


@FORMS.of(ops.AllSliceOp)
@of_shards
def all_slice(op: ops.AllSliceOp, lowering: Lowering) -> None:
    """Slice the shard of the device out of its operand; no communication."""
    mesh = lowering.shardings.mesh(op.out_sharding.data)
    lowering.replace(op, own_shard(lowering.emitter(op), op.tensor, op.slicing_axes.data, mesh))


@FORMS.of(ops.AllReduceOp)
@of_shards
def all_reduce(op: ops.AllReduceOp, lowering: Lowering) -> None:
    """Emit one all-reduce over the groups along the axes."""
    common = lowering.shardings.common_mesh(op.out_sharding.data)
    reduced = emit_collectives.all_reduce(lowering.emitter(op), op.tensor, op.reduction_axes.data, common, _kind(op))
    lowering.replace(op, reduced)


@FORMS.of(ops.ReduceScatterOp)
@of_shards
def reduce_scatter(op: ops.ReduceScatterOp, lowering: Lowering) -> None:
    """Emit one reduce-scatter.

    For several dims, emit an all-reduce and a slice, or with the style option `scatters_dims_together` one
    reduce-scatter of the joined dims.
    """
    axes, emit = op.reduce_scatter_axes.data, lowering.emitter(op)
    common = lowering.shardings.common_mesh(op.out_sharding.data)
    dims = [dim for dim, own in enumerate(axes) if own]
    if len(dims) == 1:
        scattered = emit_collectives.reduce_scatter(emit, op.tensor, dims[0], axes[dims[0]], common, _kind(op))
    elif emit.style.scatters_dims_together:
        scattered = _scatter_dims(emit, op.tensor, axes, common, _kind(op))
    else:
        reduced = emit_collectives.all_reduce(emit, op.tensor, _joined(axes), common, _kind(op))
        scattered = own_shard(emit, reduced, axes, common.mesh)
    lowering.replace(op, scattered)


def _scatter_dims(
    emit: Emitter, value: SSAValue, axes: AxesPerDim, common: CommonMesh, kind: ReductionKind
) -> SSAValue:
    """Emit one reduce-scatter along a leading dim that holds the shards of all scattered dims."""
    split: list[int] = []
    shard_indices: list[int] = []
    kept: list[int] = []
    for size, own in zip(shape_of(value), axes, strict=True):
        count = sharded_size(own, common.mesh)
        if own:
            shard_indices.append(len(split))
            split.append(count)
        split.append(size // count)
        kept.append(size // count)
    others = [index for index in range(len(split)) if index not in shard_indices]
    unstacked = emit.transpose(emit.reshape(value, split), [*shard_indices, *others])
    joined_value = emit.reshape(unstacked, [prod(split[index] for index in shard_indices), *kept])
    return emit.reshape(emit_collectives.reduce_scatter(emit, joined_value, 0, _joined(axes), common, kind), kept)


def _kind(op: ops.ReducingOp) -> ReductionKind:
    assert op.kind is not None  # verified
    return op.kind


def _joined(axes: AxesPerDim) -> AxisList:
    return tuple(axis for own in axes for axis in own)


@FORMS.of(ops.AllToAllOp)
@of_shards
def all_to_all(op: ops.AllToAllOp, lowering: Lowering) -> None:
    """Emit one all-to-all, for several pairs of dims along a new leading dim that joins them."""
    params, emit = op.params.data, lowering.emitter(op)
    common = lowering.shardings.common_mesh(op.out_sharding.data)
    if len(params) == 1:
        moved = emit_collectives.all_to_all(emit, op.tensor, params[0].target, params[0].source, params[0].axes, common)
    else:
        moved = _move_dims(emit, op.tensor, params, common)
    lowering.replace(op, moved)


class _DimMoves:
    """An all-to-all along a leading dim of blocks, one per device, which are in the order of `params`.

    The operand is reshaped to `split` and transposed by `to_front`; the result is reshaped to `moved`, transposed by
    `to_place`, and reshaped to `joined`.
    """

    def __init__(self, sizes: Sequence[int], params: Sequence[AllToAllParam], common: CommonMesh) -> None:
        self.axes: AxisList = tuple(axis for param in params for axis in param.axes)
        counts = {param.target: sharded_size(param.axes, common.mesh) for param in params}
        self.split: list[int] = []
        index_of: dict[int, int] = {}
        for dim, size in enumerate(sizes):
            if dim in counts:
                index_of[dim] = len(self.split)
                self.split.append(counts[dim])
            self.split.append(size // counts.get(dim, 1))
        blocks = [index_of[param.target] for param in params]
        self.to_front = [*blocks, *(index for index in range(len(self.split)) if index not in blocks)]
        self.moved = [self.split[index] for index in self.to_front]
        self.to_place = list(range(len(params), len(params) + len(sizes)))
        for index, param in enumerate(params):
            self.to_place.insert(self.to_place.index(param.source + len(params)), index)
        self.joined = [size // counts.get(dim, 1) for dim, size in enumerate(sizes)]
        for param in params:
            self.joined[param.source] *= counts[param.target]

    @property
    def copies(self) -> int:
        """Return how many of the two transposes move elements."""
        orders = (self.split, self.to_front), (self.moved, self.to_place)
        longer = ([index for index in order if sizes[index] != 1] for sizes, order in orders)
        return sum(order != sorted(order) for order in longer)


def _move_dims(emit: Emitter, value: SSAValue, params: Sequence[AllToAllParam], common: CommonMesh) -> SSAValue:
    """Emit one all-to-all for several pairs of dims, with the blocks in the order in which fewer values are copied."""
    sizes = shape_of(value)
    orders = (sorted(params, key=lambda param: param.target), params)  # they are given in the order of their sources
    moves = min((_DimMoves(sizes, order, common) for order in orders), key=lambda moves: moves.copies)
    unstacked = emit.transpose(emit.reshape(value, moves.split), moves.to_front)
    blocks = [prod(moves.moved[: len(params)]), *moves.moved[len(params) :]]
    moved = emit_collectives.all_to_all(emit, emit.reshape(unstacked, blocks), 0, 0, moves.axes, common)
    return emit.reshape(emit.transpose(emit.reshape(moved, moves.moved), moves.to_place), moves.joined)


@FORMS.of(ops.CollectivePermuteOp)
@of_shards
def collective_permute(op: ops.CollectivePermuteOp, lowering: Lowering) -> None:
    """Emit one collective-permute of shards, or nothing if every device already has its shard."""
    source, target = lowering.shardings.of(op.tensor), op.out_sharding.data
    assert source is not None  # verified
    pairs = source_target_pairs(source, lowering.shardings.mesh(source), target, lowering.shardings.mesh(target))
    if all(sender == receiver for sender, receiver in pairs):
        lowering.replace(op, op.tensor)
    else:
        lowering.replace(op, emit_collectives.collective_permute(lowering.emitter(op), op.tensor, pairs))


@FORMS.of(ops.ReplicatedToUnreducedOp)
@of_shards
def replicated_to_unreduced(op: ops.ReplicatedToUnreducedOp, lowering: Lowering) -> None:
    """Keep the value on the first device along the axes, and emit the identity element on the others."""
    sharding, emit = op.out_sharding.data, lowering.emitter(op)
    tensor = tensor_of(op.tensor)
    is_first = is_first_device(emit, op.axes.data, lowering.shardings.mesh(sharding), tensor)
    lowering.replace(op, emit.select(is_first, op.tensor, _identity_tensor(emit, tensor, sharding)))


@FORMS.of(ops.ShardedToUnreducedOp)
@of_shards
def sharded_to_unreduced(op: ops.ShardedToUnreducedOp, lowering: Lowering) -> None:
    """Write the shard at its offset into a larger tensor of identity elements."""
    sharding, emit, axes = op.out_sharding.data, lowering.emitter(op), op.axes.data
    mesh = lowering.shardings.mesh(sharding)
    sizes = shape_of(op.tensor)
    larger = with_shape(op.tensor, [size * sharded_size(own, mesh) for size, own in zip(sizes, axes, strict=True)])
    background = _identity_tensor(emit, larger, sharding)
    starts = shard_offsets(emit, axes, mesh, sizes)
    lowering.replace(op, emit.value(DynamicUpdateSliceOp, [background, op.tensor, *starts], larger))


def _identity_tensor(emit: Emitter, tensor: AnyTensor, sharding: TensorSharding) -> SSAValue:
    return identity_constant(emit, COMBINER_OF_KIND[sharding.unreduced_kind], tensor)
