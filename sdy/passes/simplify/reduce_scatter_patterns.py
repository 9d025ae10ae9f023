"""Fuse an all-reduce and the slices of its result into a reduce-scatter.

    before  %0 = all_reduce {"u", "v"} %x         <@m, [{"w"}, {}]>
            %1 = all_slice [{"v", "t"}, {"u"}] %0 <@m, [{"w", "v", "t"}, {"u"}]>
    after   %0 = reduce_scatter [{"v"}, {"u"}] %x <@m, [{"w", "v"}, {"u"}]>
            %1 = all_slice [{"t"}, {}] %0         <@m, [{"w", "v", "t"}, {"u"}]>

Source: docs/spec/01, 7.4.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from sdy.dialects.meshes import visible_meshes
from sdy.dialects.sdy.collectives import AllReduceOp, AllSliceOp, ReduceScatterOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import sharding_of
from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import extended
from sdy.model.collective import AxesPerDim
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import fully_open


class FuseReduceAndSlice(RewritePattern):
    """Fuse an all-reduce with its users if all are slices along the reduced axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllSliceOp, rewriter: PatternRewriter) -> None:
        reduce = op.tensor.owner
        if not isinstance(reduce, AllReduceOp):
            return
        slices = _slices_alike(reduce, op)
        split = split_axes(reduce.reduction_axes.data, op.slicing_axes.data)
        mesh = resolve_mesh(op.out_sharding.data.mesh, visible_meshes(op))
        if slices is None or split is None or mesh is None or reduce.kind is None:
            return
        scatter_axes, left_axes = split
        given = sharding_of(reduce.tensor) or fully_open(mesh, rank_of_type(reduce.tensor.type))
        sharding = _scattered(given, scatter_axes, reduce.out_sharding.data, op.out_sharding.data, mesh)
        scatter = ReduceScatterOp(reduce.tensor, scatter_axes, sharding, reduce.kind)
        scatter.location = op.location
        rewriter.insert(scatter, InsertPoint.before(op))
        result = scatter.result
        if any(left_axes):
            rest = AllSliceOp(result, left_axes, op.out_sharding.data)
            rest.location = op.location
            rewriter.insert(rest, InsertPoint.before(op))
            result = rest.result
        for slice_ in slices:
            rewriter.replace(slice_, [], [result])
        rewriter.erase(reduce)


def split_axes(reduced: AxisList, sliced: AxesPerDim) -> tuple[AxesPerDim, AxesPerDim] | None:
    """Split the sliced axes of each dim into those that were reduced and those still to slice.

    Return None if a reduced axis is not sliced, or is minor to a sliced axis that was not reduced.
    """
    rest = set[AxisRef](reduced)
    scatter: list[AxisList] = []
    for axes in sliced:
        prefix = tuple(takewhile(rest.__contains__, axes))
        rest.difference_update(prefix)
        scatter.append(prefix)
    if rest:
        return None
    return tuple(scatter), tuple(axes[len(prefix) :] for axes, prefix in zip(sliced, scatter, strict=True))


def _slices_alike(reduce: AllReduceOp, first: AllSliceOp) -> list[AllSliceOp] | None:
    """Return the users of `reduce` if all are slices equal to `first`, which precedes the others in its block."""
    slices: list[AllSliceOp] = []
    for use in reduce.result.uses:
        user: Operation = use.operation
        if not isinstance(user, AllSliceOp) or user.slicing_axes != first.slicing_axes:
            return None
        if user.is_before_in_block(first):
            return None
        slices.append(user)
    return slices


def _scattered(
    given: TensorSharding, axes: AxesPerDim, reduced: TensorSharding, sliced: TensorSharding, mesh: Mesh
) -> TensorSharding:
    """Return the sharding of the reduce-scatter: that of its operand, further sharded along `axes`."""
    dims = tuple(DimSharding(extended(dim.axes, refs, mesh)) for dim, refs in zip(given.dims, axes, strict=True))
    return replace(sliced, mesh=reduced.mesh, dims=dims)
