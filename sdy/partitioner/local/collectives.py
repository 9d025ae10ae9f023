"""The collectives of `sdy` as those of StableHLO. Source: spec of local lowering, sections 1.6 to 1.11."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from sdy.dialects.op_table import OpTable
from sdy.dialects.sdy import collectives as ops
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.collective import AllToAllParam, AxesPerDim
from sdy.model.mesh import Mesh
from sdy.model.sharding import ReductionKind
from sdy.model.tiling import source_target_pairs
from sdy.partitioner.local.emitter import Emitter, shape_of
from sdy.partitioner.local.lowering import LocalForm, Lowering

FORMS = OpTable[LocalForm]()


@FORMS.of(ops.AllGatherOp)
def all_gather(op: ops.AllGatherOp) -> LocalForm:
    """One gather; of several dims, along a new leading dim, which is then dealt out."""

    def lower(lowering: Lowering) -> None:
        axes, emit = op.gathering_axes.data, lowering.emitter(op)
        mesh = lowering.mesh(op.out_sharding.data)
        dims = [dim for dim, own in enumerate(axes) if own]
        if len(dims) == 1:
            gathered = emit.all_gather(op.tensor, dims[0], axes[dims[0]], mesh)
        else:
            gathered = _gather_dims(emit, op.tensor, axes, mesh)
        lowering.replace(op, gathered)

    return lower


def _gather_dims(emit: Emitter, value: SSAValue, axes: AxesPerDim, mesh: Mesh) -> SSAValue:
    sizes = shape_of(value)
    counts = [sharded_size(own, mesh) for own in axes]
    gathered_dims = [dim for dim, own in enumerate(axes) if own]
    every_axis: AxisList = tuple(axis for own in axes for axis in own)
    stacked = emit.all_gather(emit.reshape(value, [1, *sizes]), 0, every_axis, mesh)
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
        mesh = lowering.mesh(op.out_sharding.data)
        emit = lowering.emitter(op)
        lowering.replace(op, emit.all_reduce(op.tensor, op.reduction_axes.data, mesh, _kind(op)))

    return lower


@FORMS.of(ops.ReduceScatterOp)
def reduce_scatter(op: ops.ReduceScatterOp) -> LocalForm:
    """One reduce-scatter; of several dims, an all-reduce of which each device keeps its own part."""

    def lower(lowering: Lowering) -> None:
        axes, emit = op.reduce_scatter_axes.data, lowering.emitter(op)
        mesh = lowering.mesh(op.out_sharding.data)
        dims = [dim for dim, own in enumerate(axes) if own]
        if len(dims) == 1:
            scattered = emit.reduce_scatter(op.tensor, dims[0], axes[dims[0]], mesh, _kind(op))
        else:
            every_axis: AxisList = tuple(axis for own in axes for axis in own)
            scattered = emit.own_slice(emit.all_reduce(op.tensor, every_axis, mesh, _kind(op)), axes, mesh)
        lowering.replace(op, scattered)

    return lower


def _kind(op: ops.ReducingOp) -> ReductionKind:
    assert op.kind is not None  # verified
    return op.kind


@FORMS.of(ops.AllToAllOp)
def all_to_all(op: ops.AllToAllOp) -> LocalForm:
    """One all-to-all; of several pairs of dims, along a new leading dim for all of them together."""

    def lower(lowering: Lowering) -> None:
        params, emit = op.params.data, lowering.emitter(op)
        mesh = lowering.mesh(op.out_sharding.data)
        if len(params) == 1:
            moved = emit.all_to_all(op.tensor, params[0].target, params[0].source, params[0].axes, mesh)
        else:
            moved = _move_dims(emit, op.tensor, sorted(params, key=lambda param: param.target), mesh)
        lowering.replace(op, moved)

    return lower


def _move_dims(emit: Emitter, value: SSAValue, params: Sequence[AllToAllParam], mesh: Mesh) -> SSAValue:
    """`params` are sorted by target."""
    sizes = list(shape_of(value))
    counts = {param.target: sharded_size(param.axes, mesh) for param in params}
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
    moved = emit.all_to_all(
        emit.reshape(apart, [prod(counts.values()), *shape_of(apart)[len(params) :]]), 0, 0, every_axis, mesh
    )
    order = list(range(len(params), len(params) + len(sizes)))
    for place, param in enumerate(params):
        order.insert(order.index(param.source + len(params)), place)
    joined = [size // counts.get(dim, 1) for dim, size in enumerate(sizes)]
    for param in params:
        joined[param.source] *= counts[param.target]
    return emit.reshape(emit.transpose(emit.reshape(moved, shape_of(apart)), order), joined)


@FORMS.of(ops.CollectivePermuteOp)
def collective_permute(op: ops.CollectivePermuteOp) -> LocalForm:
    """One permute of whole shards."""

    def lower(lowering: Lowering) -> None:
        source, target = lowering.sharding(op.tensor), op.out_sharding.data
        assert source is not None  # verified
        pairs = source_target_pairs(source, lowering.mesh(source), target, lowering.mesh(target))
        lowering.replace(op, lowering.emitter(op).collective_permute(op.tensor, pairs))

    return lower
