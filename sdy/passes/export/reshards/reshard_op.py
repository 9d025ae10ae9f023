"""Reshard the tensors of one op with a sharding rule. Source: docs/spec/05, 1.11 to 1.17."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.sdy.collectives import AllReduceOp, AllSliceOp, ReduceScatterOp, ReducingOp
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import set_sharding, sharding_before_barriers, sharding_of
from sdy.dialects.stablehlo.contraction import DotLikeOp
from sdy.dialects.stablehlo.shape import ReshapeOp
from sdy.model.axis import AxisList
from sdy.model.mesh_table import CommonMesh, MeshTable
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.partitioner.on_shards.reduction_kinds import ReductionKinds, reduction_kinds
from sdy.partitioner.op_agreement.conflicts import (
    OpTensors,
    Resolution,
    agreed_reduction_axes,
    op_mesh,
    resolve_conflicts,
    resolve_dot,
)
from sdy.passes.rewriting.insertion import insert, location_of, redirect_other_uses, replace_op


class Resharder:
    """Makes the tensors of ops agree; the decision for one op is reused for equal ops with equal shardings.

    With `by_count`, an op that sums products gets axes that most of its tensors have; by default, of most elements.
    """

    def __init__(self, meshes: MeshTable, *, is_strict: bool = False, by_count: bool = False) -> None:
        self._meshes = meshes
        self._is_strict = is_strict
        self._by_count = by_count
        self._known: dict[tuple[type[Operation], bool, OpTensors], tuple[Resolution, CommonMesh] | None] = {}

    def reshard(self, op: Operation, rule: OpShardingRule, *, full: bool) -> None:
        """Make all tensors of `op` agree; the light version only reshards the result of a dot where that pays."""
        kinds = reduction_kinds(op)
        if kinds is None:
            rule = without_reduction(rule)
        values = (*operands_of(op), *op.results)
        shardings = tuple([sharding_before_barriers(value) for value in values])
        elements = [_element_count(value) for value in values]
        if self._by_count and rule.reduction and len(op.operands) == 2:
            elements = [sum(elements) + count for count in elements]  # the number of tensors decides, then their sizes
        tensors = OpTensors(rule, shardings, tuple(elements))
        key = type(op), full, tensors
        if key not in self._known:
            self._known[key] = self._resolved(op, tensors, full=full)
        found = self._known[key]
        if found is None or not (op.results or self._is_strict):  # Shardy does not reshard ops without results
            return
        resolution, on = found
        if any(resolution.reshards):
            _apply(op, resolution, on)
        reductions = _reductions_of_program(op, resolution.reduction_axes)
        scatters = [user for user in reductions if isinstance(user, ReduceScatterOp)]
        if len(scatters) == len(reductions):
            # The all-reduce below and these slices are merged again, if nothing cheaper is found.
            for user in scatters:
                axes, sharding = user.reduce_scatter_axes.data, user.out_sharding.data
                replace_op(user, AllSliceOp(user.tensor, axes, sharding))
            reductions = []
        if resolution.reduction_axes and not reductions:
            assert kinds is not None  # a rule without a kind has no reduction factors
            _reduce_results(op, resolution.reduction_axes, on, kinds)

    def _resolved(self, op: Operation, tensors: OpTensors, *, full: bool) -> tuple[Resolution, CommonMesh] | None:
        on = op_mesh(tensors.shardings, self._meshes)
        if on is None:
            return None
        if full:
            is_reshape = isinstance(op, ReshapeOp)
            return resolve_conflicts(tensors, on, self._meshes, is_reshape=is_reshape, is_strict=self._is_strict), on
        return _light(op, tensors, on), on


def _light(op: Operation, tensors: OpTensors, on: CommonMesh) -> Resolution:
    found = resolve_dot(tensors, on) if isinstance(op, DotLikeOp) else None
    resolution = found or Resolution((None,) * len(tensors.shardings))
    return replace(resolution, reduction_axes=agreed_reduction_axes(tensors, on))


def without_reduction(rule: OpShardingRule) -> OpShardingRule:
    """Return the rule of an op whose partial results cannot be all-reduced: reduction factors need replication."""
    whole = tuple(sorted((*rule.reduction, *rule.need_replication)))
    return replace(rule, reduction=(), need_replication=whole)


def _apply(op: Operation, resolution: Resolution, on: CommonMesh) -> None:
    for index, operand in enumerate(tuple(op.operands)):
        needed = resolution.reshards[index]
        if needed is not None:
            resharded = insert(ReshardOp(operand, needed), InsertPoint.before(op), location_of(operand))
            op.operands[index] = resharded.result
    last = op
    for result, needed in zip(op.results, resolution.reshards[len(op.operands) :], strict=True):
        if needed is not None:
            # The op produces one sharding; its users still see the other.
            wanted = sharding_of(result) or _replicated(result, on)
            last = insert(ReshardOp(result, wanted), InsertPoint.after(last), op.location)
            redirect_other_uses(result, last.result)
            set_sharding(result, needed)


def _reductions_of_program(op: Operation, axes: AxisList) -> list[Operation]:
    """Return the collectives by which the program itself combines the partial results, if all users of them do."""
    users = [use.operation for result in op.results for use in result.uses] if axes else []
    return users if all(isinstance(user, ReducingOp) and set(axes) == set(user.listed_axes) for user in users) else []


def _reduce_results(op: Operation, axes: AxisList, on: CommonMesh, kinds: ReductionKinds) -> None:
    """All-reduce every result right after the op, before any reshard."""
    last = op
    for result, kind in zip(op.results, kinds, strict=True):
        sharding = sharding_of(result) or _replicated(result, on)
        combined = sharding.unreduced_kind if sharding.unreduced else kind
        last = insert(AllReduceOp(result, axes, sharding, combined), InsertPoint.after(last), op.location)
        redirect_other_uses(result, last.result)


def _replicated(value: SSAValue, on: CommonMesh) -> TensorSharding:
    return fully_closed(on.reference, len(static_shape(value.type) or ()))


def _element_count(value: SSAValue) -> int:
    shape = static_shape(value.type)
    return 0 if shape is None else prod(shape)
