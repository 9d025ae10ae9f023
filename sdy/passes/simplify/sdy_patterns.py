"""The canonicalization patterns of the `sdy` dialect, in the groups that a pipeline can choose.

    before  %0 = all_reduce {"u", "v"} %x         <@m, [{"w"}, {}]>
            %1 = all_slice [{"v", "t"}, {"u"}] %0 <@m, [{"w", "v", "t"}, {"u"}]>
    after   %0 = reduce_scatter [{"v"}, {"u"}] %x <@m, [{"w", "v"}, {"u"}]>
            %1 = all_slice [{"t"}, {}] %0         <@m, [{"w", "v", "t"}, {"u"}]>

Source: docs/spec/01, 7; groups: docs/spec/04, 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, takewhile
from math import prod
from typing import cast

from xdsl.dialects.builtin import NoneAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from sdy.dialects.ir.walk import reached
from sdy.dialects.meshes import visible_meshes
from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.dialects.sdy.collectives import (
    AllGatherOp,
    AllReduceOp,
    AllSliceOp,
    AllToAllOp,
    CollectiveOp,
    CollectivePermuteOp,
    ReduceScatterOp,
    ReplicatedToUnreducedOp,
    ShardedToUnreducedOp,
)
from sdy.dialects.sdy.ops import ReshardOp, ReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.sharded_types import shape_of_type
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.shape import ReshapeOp, TransposeOp
from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import extended, sort_and_merge
from sdy.model.collective import AxesPerDim
from sdy.model.equivalence import is_equivalent, is_equivalent_across_reshape
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import common_mesh, resolve_mesh
from sdy.model.sharding import DimSharding, ReductionKind, TensorSharding
from sdy.model.sharding_update import fully_open


class DropEmptyCollective(RewritePattern):
    """Erase an all-gather, an all-slice or a reduction over no axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: AllGatherOp | AllSliceOp | ReduceScatterOp | AllReduceOp, rewriter: PatternRewriter
    ) -> None:
        if not op.listed_axes:
            _forward(op, rewriter)


class DropIdentityPermute(RewritePattern):
    """Erase a collective-permute to the sharding of its operand.

    One that changes the mesh of a replicated tensor stays if a collective uses the result, since the operand and the
    result of a collective must be on the same mesh.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CollectivePermuteOp, rewriter: PatternRewriter) -> None:
        source, target = sharding_of(op.tensor), op.out_sharding.data
        changes_mesh = source is not None and source.mesh != target.mesh
        if is_equivalent(source, target) and not (
            changes_mesh and any(isinstance(use.operation, CollectiveOp) for use in op.result.uses)
        ):
            _forward(op, rewriter)


class DropUnusedAllToAll(RewritePattern):
    """Erase an all-to-all without users."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllToAllOp, rewriter: PatternRewriter) -> None:
        if op.result.first_use is None:
            _forward(op, rewriter)


class SliceOfGather(RewritePattern):
    """Fold an all-slice of an all-gather along the same axes in each dim."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllSliceOp, rewriter: PatternRewriter) -> None:
        inner = op.tensor.owner
        if isinstance(inner, AllGatherOp) and inner.gathering_axes.data == op.slicing_axes.data:
            rewriter.replace(op, [], [inner.tensor])


class ReduceOfReplicated(RewritePattern):
    """Fold an all-reduce of a `replicated_to_unreduced`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllReduceOp, rewriter: PatternRewriter) -> None:
        inner = op.tensor.owner
        if isinstance(inner, ReplicatedToUnreducedOp) and inner.axes.data == op.reduction_axes.data:
            rewriter.replace(op, [], [inner.tensor])


class ReduceOfSharded(RewritePattern):
    """Replace an all-reduce of a `sharded_to_unreduced` by an all-gather."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllReduceOp, rewriter: PatternRewriter) -> None:
        inner = op.tensor.owner
        if not isinstance(inner, ShardedToUnreducedOp):
            return
        mesh = resolve_mesh(inner.out_sharding.data.mesh, visible_meshes(op))
        axes = inner.axes.data
        if mesh is not None and sort_and_merge(chain.from_iterable(axes), mesh) == op.reduction_axes.data:
            gather = AllGatherOp(inner.tensor, axes, op.out_sharding.data)
            replace_at(op, gather, rewriter)


class AllToAllOfAllToAll(RewritePattern):
    """Merge two consecutive all-to-alls that use different dims."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllToAllOp, rewriter: PatternRewriter) -> None:
        inner = op.tensor.owner
        if not isinstance(inner, AllToAllOp) or not inner.result.has_one_use():
            return
        params = (*inner.params.data, *op.params.data)
        dims = [dim for param in params for dim in (param.source, param.target)]
        if len(set(dims)) == len(dims):
            ordered = tuple(sorted(params, key=lambda param: param.source))
            replace_at(op, AllToAllOp(inner.tensor, ordered, op.out_sharding.data), rewriter)
            rewriter.erase(inner)


def replace_at(op: Operation, replacement: Operation, rewriter: PatternRewriter) -> None:
    """Replace `op` by `replacement`, with the same location."""
    replacement.location = op.location
    rewriter.replace(op, replacement)


def _forward(op: CollectiveOp, rewriter: PatternRewriter) -> None:
    """Replace the result of `op` by its operand."""
    rewriter.replace(op, [], [op.tensor])


def _insert_before(op: AllSliceOp, new: ReduceScatterOp | AllSliceOp, rewriter: PatternRewriter) -> SSAValue:
    """Insert a collective right before `op`, with its location, and return the result."""
    new.location = op.location
    rewriter.insert(new, InsertPoint.before(op))
    return new.result


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
        result = _insert_before(op, ReduceScatterOp(reduce.tensor, scatter_axes, sharding, reduce.kind), rewriter)
        if any(left_axes):
            result = _insert_before(op, AllSliceOp(result, left_axes, op.out_sharding.data), rewriter)
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


class ReshardOfReshard(RewritePattern):
    """Merge two consecutive reshards into the second, if the first has no other users."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshardOp, rewriter: PatternRewriter) -> None:
        inner = op.input.owner
        if isinstance(inner, ReshardOp) and op.input.has_one_use():
            replace_at(op, ReshardOp(inner.input, op.sharding.data), rewriter)
            rewriter.erase(inner)


class ReuseReshard(RewritePattern):
    """Reuse an earlier reshard of the same data, in the same or another shape.

    The reshapes and transposes before the later reshard are repeated after the earlier one.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshardOp, rewriter: PatternRewriter) -> None:
        steps = _steps_to(op.input)
        root = steps[0].operands[0] if steps else op.input
        others = [other for other in _reshards_of(root) if other is not op]
        shape = _static_shape(op.result.type)
        if not others or shape is None:
            return
        target = _before_steps(op.sharding.data, steps)
        mesh = resolve_mesh(target.mesh, visible_meshes(op))
        if mesh is None:
            return
        alike = (other for other in others if _is_same_layout(other, target, shape, mesh))
        earlier = [other for other in alike if other.is_before_in_block(op)]
        if earlier:
            block = op.parent_block()
            assert block is not None  # both ops are in one block
            first = min(earlier, key=block.get_operation_index)
            rewriter.replace(op, [], [_redo(steps, first.result, root.type, rewriter)])


def _steps_to(value: SSAValue) -> list[ReshapeOp | TransposeOp]:
    """Return the reshapes and transposes that produce `value`, in program order."""
    steps: list[ReshapeOp | TransposeOp] = []
    while isinstance(value.owner, ReshapeOp | TransposeOp):
        steps.append(value.owner)
        value = value.owner.operand
    return steps[::-1]


def _before_steps(sharding: TensorSharding, steps: list[ReshapeOp | TransposeOp]) -> TensorSharding:
    """Return the sharding of the input of `steps` that corresponds to this one of their result, if there is one."""
    for step in reversed(steps):
        if isinstance(step, TransposeOp):
            dims = list[DimSharding](sharding.dims)
            for dim, source in zip(sharding.dims, step.permutation.iter_values(), strict=True):
                dims[source] = dim
            sharding = replace(sharding, dims=tuple(dims), unreduced_kind=ReductionKind.SUM)
        elif _rank(step.operand) != _rank(step.result):
            break
    return sharding


def _reshards_of(root: SSAValue) -> list[ReshardOp]:
    """Return the reshards of `root` and of reshapes of it."""

    def reshapes(value: SSAValue) -> list[SSAValue]:
        return [use.operation.result for use in value.uses if isinstance(use.operation, ReshapeOp)]

    values = reached([root], reshapes)
    return [use.operation for value in values for use in value.uses if isinstance(use.operation, ReshardOp)]


def _is_same_layout(other: ReshardOp, target: TensorSharding, shape: tuple[int, ...], mesh: Mesh) -> bool:
    sharding, other_shape = other.sharding.data, _static_shape(other.result.type)
    if other_shape is None or (sharding.unreduced, sharding.unreduced_kind) != (
        target.unreduced,
        target.unreduced_kind,
    ):
        return False
    return is_equivalent_across_reshape(sharding, other_shape, target, shape, mesh)


def _redo(
    steps: list[ReshapeOp | TransposeOp], value: SSAValue, root_type: Attribute, rewriter: PatternRewriter
) -> SSAValue:
    """Repeat `steps` on `value`, reshaped to the type of their input."""
    if value.type != root_type:
        reshape = ReshapeOp.create(operands=[value], result_types=[root_type])
        value = _insert_after(value, reshape, rewriter)
    for step in steps:
        copy = step.clone()
        copy.operands[0] = value
        value = _insert_after(value, copy, rewriter)
    return value


def _insert_after(value: SSAValue, op: ReshapeOp | TransposeOp, rewriter: PatternRewriter) -> SSAValue:
    source = value.owner
    assert isinstance(source, Operation)
    op.location = source.location
    rewriter.insert(op, InsertPoint.after(source))
    return op.result


def _static_shape(value_type: Attribute) -> tuple[int, ...] | None:
    """Return the shape of a ranked tensor without encoding and dynamic dims; None for other types."""
    if not isinstance(value_type, TensorType):
        return None
    tensor = cast("TensorType[Attribute]", value_type)
    sizes = tuple(size for size in shape_of_type(tensor) if size is not None)
    return sizes if len(sizes) == tensor.get_num_dims() and isinstance(tensor.encoding, NoneAttr) else None


def _rank(value: SSAValue) -> int | None:
    return value.type.get_num_dims() if isinstance(value.type, TensorType) else None


class DropUnusedOperands(RewritePattern):
    """Remove operands whose block argument has no uses, with the argument and its sharding."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ManualComputationOp, rewriter: PatternRewriter) -> None:
        arguments = op.body.block.args
        used = [index for index, argument in enumerate(arguments) if argument.first_use is not None]
        if len(used) == len(arguments):
            return
        op.in_shardings = TensorShardingPerValueAttr(tuple(op.in_shardings.data[index] for index in used))
        op.operands = [op.operands[index] for index in used]
        for argument in [argument for argument in arguments if argument.first_use is None]:
            rewriter.erase_block_argument(argument)
        rewriter.notify_op_modified(op)


class InlineRedundant(RewritePattern):
    """Inline a computation that is empty, or whose manual axes have one device."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ManualComputationOp, rewriter: PatternRewriter) -> None:
        block = op.body.block
        if not (op.in_shardings.data or op.out_shardings.data) and isinstance(block.first_op, ReturnOp):
            rewriter.erase(op)
            return
        if _manual_devices(op) != 1:
            return
        terminator = block.last_op
        assert isinstance(terminator, ReturnOp)
        rewriter.inline_block(block, InsertPoint.before(op), op.operands)
        rewriter.replace(op, [], list(terminator.operands))
        rewriter.erase(terminator)


def _manual_devices(op: ManualComputationOp) -> int:
    """Return the number of devices along the manual axes; 1 if no sharding names a mesh."""
    shared = common_mesh((*op.in_shardings.data, *op.out_shardings.data), visible_meshes(op))
    return 1 if shared is None else prod(shared.mesh.axis_size(axis) for axis in op.manual_axes.data)


RESHARD_PATTERNS: tuple[RewritePattern, ...] = (ReshardOfReshard(),)
COLLECTIVE_PATTERNS: tuple[RewritePattern, ...] = (
    DropEmptyCollective(),
    DropIdentityPermute(),
    SliceOfGather(),
    ReduceOfReplicated(),
    ReduceOfSharded(),
    DropUnusedAllToAll(),
    AllToAllOfAllToAll(),
    FuseReduceAndSlice(),
)
UNLABELLED_PATTERNS: tuple[RewritePattern, ...] = (DropUnusedOperands(), InlineRedundant(), ReuseReshard())

# The labels that the option `enable-patterns` accepts.
LABELLED_PATTERNS: Mapping[str, tuple[RewritePattern, ...]] = {
    "sdy-reshard": RESHARD_PATTERNS,
    "sdy-collective": COLLECTIVE_PATTERNS,
}
ALL_PATTERNS: tuple[RewritePattern, ...] = (*RESHARD_PATTERNS, *COLLECTIVE_PATTERNS, *UNLABELLED_PATTERNS)
