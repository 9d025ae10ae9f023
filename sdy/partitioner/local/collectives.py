"""The collectives of `sdy` as those of StableHLO. Source: docs/spec/06, 1.6 to 1.11 and 8.1 G11."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy import collectives as ops
from sdy.dialects.stablehlo.attributes.types import AnyTensor, shape_of
from sdy.dialects.stablehlo.slicing import DynamicUpdateSliceOp
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.collective import AllToAllParam, AxesPerDim
from sdy.model.devices.tiling import source_target_pairs
from sdy.model.mesh_table import CommonMesh
from sdy.model.sharding import ReductionKind, TensorSharding
from sdy.partitioner.emit import collective_ops as talk
from sdy.partitioner.emit.emitter import Emitter, identity_constant, tensor_of, with_shape
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering
from sdy.partitioner.on_shards.combiners import COMBINER_OF_KIND

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()


@CHECKS.of(
    ops.AllGatherOp,
    ops.AllReduceOp,
    ops.AllSliceOp,
    ops.AllToAllOp,
    ops.CollectivePermuteOp,
    ops.ReduceScatterOp,
    ops.ReplicatedToUnreducedOp,
    ops.ShardedToUnreducedOp,
)
def is_verified(op: ops.CollectiveOp) -> Check:
    """What a collective makes of a sharding is verified."""
    del op
    return lambda _: None


@FORMS.of(ops.AllGatherOp)
def all_gather(op: ops.AllGatherOp) -> LocalForm:
    """One gather; of several dims, along a new leading dim, which is then dealt out."""

    def lower(lowering: Lowering) -> None:
        axes, emit = op.gathering_axes.data, lowering.emitter(op)
        on = lowering.on(op.out_sharding.data)
        dims = [dim for dim, own in enumerate(axes) if own]
        gathered: SSAValue = op.tensor
        if len(dims) > 1 and not emit.style.gathers_dim_by_dim:
            gathered = _gather_dims(emit, gathered, axes, on)
        else:
            for dim in reversed(dims):
                gathered = talk.all_gather(emit, gathered, dim, axes[dim], on)
        lowering.replace(op, gathered)

    return lower


def _gather_dims(emit: Emitter, value: SSAValue, axes: AxesPerDim, on: CommonMesh) -> SSAValue:
    sizes = shape_of(value)
    counts = [sharded_size(own, on.mesh) for own in axes]
    gathered_dims = [dim for dim, own in enumerate(axes) if own]
    stacked = talk.all_gather(emit, emit.reshape(value, [1, *sizes]), 0, _joined(axes), on)
    apart = emit.reshape(stacked, [*(counts[dim] for dim in gathered_dims), *sizes])
    order: list[int] = []
    for dim in range(len(sizes)):
        if dim in gathered_dims:
            order.append(gathered_dims.index(dim))
        order.append(dim + len(gathered_dims))
    return emit.reshape(emit.transpose(apart, order), [size * count for size, count in zip(sizes, counts, strict=True)])


@FORMS.of(ops.AllSliceOp)
def all_slice(op: ops.AllSliceOp) -> LocalForm:
    """Each device keeps its own part: no communication."""

    def lower(lowering: Lowering) -> None:
        mesh = lowering.mesh(op.out_sharding.data)
        lowering.replace(op, lowering.emitter(op).own_slice(op.tensor, op.slicing_axes.data, mesh))

    return lower


@FORMS.of(ops.AllReduceOp)
def all_reduce(op: ops.AllReduceOp) -> LocalForm:
    """One all-reduce over the groups along the axes."""

    def lower(lowering: Lowering) -> None:
        on = lowering.on(op.out_sharding.data)
        reduced = talk.all_reduce(lowering.emitter(op), op.tensor, op.reduction_axes.data, on, _kind(op))
        lowering.replace(op, reduced)

    return lower


@FORMS.of(ops.ReduceScatterOp)
def reduce_scatter(op: ops.ReduceScatterOp) -> LocalForm:
    """One reduce-scatter; of several dims an all-reduce, of which each device keeps its own part, or one of all dims
    joined, whichever the style asks for.
    """

    def lower(lowering: Lowering) -> None:
        axes, emit = op.reduce_scatter_axes.data, lowering.emitter(op)
        on = lowering.on(op.out_sharding.data)
        dims = [dim for dim, own in enumerate(axes) if own]
        if len(dims) == 1:
            scattered = talk.reduce_scatter(emit, op.tensor, dims[0], axes[dims[0]], on, _kind(op))
        elif emit.style.scatters_dims_together:
            scattered = _scatter_dims(emit, op.tensor, axes, on, _kind(op))
        else:
            reduced = talk.all_reduce(emit, op.tensor, _joined(axes), on, _kind(op))
            scattered = emit.own_slice(reduced, axes, on.mesh)
        lowering.replace(op, scattered)

    return lower


def _scatter_dims(emit: Emitter, value: SSAValue, axes: AxesPerDim, on: CommonMesh, kind: ReductionKind) -> SSAValue:
    """The pieces of all scattered dims in one leading dim, which is scattered."""
    split: list[int] = []
    piece_places: list[int] = []
    kept: list[int] = []
    for size, own in zip(shape_of(value), axes, strict=True):
        count = sharded_size(own, on.mesh)
        if own:
            piece_places.append(len(split))
            split.append(count)
        split.append(size // count)
        kept.append(size // count)
    others = [place for place in range(len(split)) if place not in piece_places]
    apart = emit.transpose(emit.reshape(value, split), [*piece_places, *others])
    together = emit.reshape(apart, [prod(split[place] for place in piece_places), *kept])
    return emit.reshape(talk.reduce_scatter(emit, together, 0, _joined(axes), on, kind), kept)


def _kind(op: ops.ReducingOp) -> ReductionKind:
    assert op.kind is not None  # verified
    return op.kind


def _joined(axes: AxesPerDim) -> AxisList:
    return tuple(axis for own in axes for axis in own)


@FORMS.of(ops.AllToAllOp)
def all_to_all(op: ops.AllToAllOp) -> LocalForm:
    """One all-to-all; of several pairs of dims, along a new leading dim for all of them together."""

    def lower(lowering: Lowering) -> None:
        params, emit = op.params.data, lowering.emitter(op)
        on = lowering.on(op.out_sharding.data)
        if len(params) == 1:
            moved = talk.all_to_all(emit, op.tensor, params[0].target, params[0].source, params[0].axes, on)
        else:
            moved = _move_dims(emit, op.tensor, sorted(params, key=lambda param: param.target), on)
        lowering.replace(op, moved)

    return lower


def _move_dims(emit: Emitter, value: SSAValue, params: Sequence[AllToAllParam], on: CommonMesh) -> SSAValue:
    """`params` are sorted by target."""
    sizes = list(shape_of(value))
    counts = {param.target: sharded_size(param.axes, on.mesh) for param in params}
    every_axis: AxisList = tuple(axis for param in params for axis in param.axes)
    split: list[int] = []
    factor_places: list[int] = []
    for dim, size in enumerate(sizes):
        if dim in counts:
            factor_places.append(len(split))
            split.append(counts[dim])
        split.append(size // counts.get(dim, 1))
    others = [place for place in range(len(split)) if place not in factor_places]
    apart = emit.transpose(emit.reshape(value, split), [*factor_places, *others])
    together = emit.reshape(apart, [prod(counts.values()), *shape_of(apart)[len(params) :]])
    moved = talk.all_to_all(emit, together, 0, 0, every_axis, on)
    order = list(range(len(params), len(params) + len(sizes)))
    for place, param in enumerate(params):
        order.insert(order.index(param.source + len(params)), place)
    joined = [size // counts.get(dim, 1) for dim, size in enumerate(sizes)]
    for param in params:
        joined[param.source] *= counts[param.target]
    return emit.reshape(emit.transpose(emit.reshape(moved, shape_of(apart)), order), joined)


@FORMS.of(ops.CollectivePermuteOp)
def collective_permute(op: ops.CollectivePermuteOp) -> LocalForm:
    """One permute of whole shards; nothing where every device has its shard already."""

    def lower(lowering: Lowering) -> None:
        source, target = lowering.sharding(op.tensor), op.out_sharding.data
        assert source is not None  # verified
        pairs = source_target_pairs(source, lowering.mesh(source), target, lowering.mesh(target))
        if all(sender == receiver for sender, receiver in pairs):
            lowering.replace(op, op.tensor)
        else:
            lowering.replace(op, talk.collective_permute(lowering.emitter(op), op.tensor, pairs))

    return lower


@FORMS.of(ops.ReplicatedToUnreducedOp)
def replicated_to_unreduced(op: ops.ReplicatedToUnreducedOp) -> LocalForm:
    """The first device along the axes keeps the value, the others have what changes no sum."""

    def lower(lowering: Lowering) -> None:
        sharding, emit = op.out_sharding.data, lowering.emitter(op)
        tensor = tensor_of(op.tensor)
        mine = emit.is_first(op.axes.data, lowering.mesh(sharding), tensor)
        lowering.replace(op, emit.select(mine, op.tensor, _nothing(emit, tensor, sharding)))

    return lower


@FORMS.of(ops.ShardedToUnreducedOp)
def sharded_to_unreduced(op: ops.ShardedToUnreducedOp) -> LocalForm:
    """The shard in its place in a larger tensor of what changes no sum."""

    def lower(lowering: Lowering) -> None:
        sharding, emit, axes = op.out_sharding.data, lowering.emitter(op), op.axes.data
        mesh = lowering.mesh(sharding)
        sizes = shape_of(op.tensor)
        larger = with_shape(op.tensor, [size * sharded_size(own, mesh) for size, own in zip(sizes, axes, strict=True)])
        around = _nothing(emit, larger, sharding)
        starts = emit.offsets(axes, mesh, sizes)
        lowering.replace(op, emit.value(DynamicUpdateSliceOp, [around, op.tensor, *starts], larger))

    return lower


def _nothing(emit: Emitter, tensor: AnyTensor, sharding: TensorSharding) -> SSAValue:
    return identity_constant(emit, COMBINER_OF_KIND[sharding.unreduced_kind], tensor)
