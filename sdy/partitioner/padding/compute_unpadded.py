"""Compute ops that cannot run on padded tensors on tensors without padding instead.

Before reshards, operands are trimmed and results are padded again. After reshards, operands are gathered, every device
computes all of the results, and keeps its shard.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from sdy.dialects.sdy.collectives import AllReduceOp, CollectiveOp, ReduceScatterOp, ReplicatedToUnreducedOp
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.model.axis import AxisList
from sdy.model.axis_list import sort_and_merge
from sdy.model.mesh import Mesh
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import ReductionKind
from sdy.model.sharding_update import fully_closed_like
from sdy.partitioner.emit.emitter import Emitter, with_shape
from sdy.partitioner.padding.facts import is_static
from sdy.partitioner.padding.padder import Padder
from sdy.rules.all import sharding_rule


def compute_unpadded(op: Operation, padder: Padder) -> None:
    """Rewrite `op` so that it computes on tensors without padding."""
    if padder.facts.is_before_reshards:
        _compute_trimmed(op, padder)
    else:
        _compute_gathered(op, padder)


def _compute_trimmed(op: Operation, padder: Padder) -> None:
    for index, operand in enumerate(op.operands):
        op.operands[index] = padder.trimmed(operand)
    for result in op.results:
        if padder.facts.needs_padding(result):
            padder.pad_uses(result)


def _compute_gathered(op: Operation, padder: Padder) -> None:
    emit = padder.emitter(op)
    gathered = {value: _gathered(emit, value, padder) for value in dict.fromkeys(op.operands)}
    copy = op.clone(value_mapper=dict(gathered))
    for old, new in zip(op.results, tuple(copy.results), strict=True):
        if padder.facts.is_padded(old):
            Rewriter.replace_value_with_new_type(new, with_shape(new, padder.facts.true_sizes(old)))
    copy.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(copy, op)
    results = [_resharded(emit, result, padder) for result in tuple(copy.results)]
    rule = sharding_rule(copy)  # its tensors fit together, unlike those of `op`, some of which are padded already
    pairs = zip(op.results, results, strict=True)
    padder.replace(op, *(_as_summand(emit, old, total, rule, padder) for old, total in pairs))


def _gathered(emit: Emitter, value: SSAValue, padder: Padder) -> SSAValue:
    return padder.gathered(emit, value, range(len(shape_of(value)))) if is_static(value) else value


def _resharded(emit: Emitter, result: SSAValue, padder: Padder) -> SSAValue:
    """Return a result of an op that computes on gathered tensors, with the sharding that it had."""
    sharding = sharding_of(result)
    if sharding is None or sharding.is_fully_replicated or not is_static(result):
        return result
    set_sharding(result, fully_closed_like(sharding))
    return padder.sliced(emit, result, sharding, range(sharding.rank))


def _as_summand(emit: Emitter, old: OpResult, total: SSAValue, rule: OpShardingRule | None, padder: Padder) -> SSAValue:
    """Return `total`, which all devices hold, on only one device of each group that a later collective sums over."""
    following = following_sum(old.op, old, rule)
    if following is None:
        return total
    sharding = sharding_of(total) or fully_closed_like(following.out_sharding.data)
    mesh = padder.facts.shardings.mesh(sharding)
    axes = summed_axes(following, mesh)
    set_sharding(total, sharding)
    unreduced = ReplicatedToUnreducedOp(total, axes, replace(sharding, unreduced=axes))
    return padder.collective_result(emit, unreduced, total)


def following_sum(op: Operation, result: SSAValue, rule: OpShardingRule | None) -> AllReduceOp | ReduceScatterOp | None:
    """Return the collective that adds up the partial values of a result of an op with this rule, or None.

    Maxima and minima are not included: they do not change if several devices contribute the full value.
    """
    return _first_sum(result) if rule is not None and _is_partial(op, rule) else None


def summed_axes(op: AllReduceOp | ReduceScatterOp, mesh: Mesh) -> AxisList:
    """Return the axes that a collective sums over."""
    if isinstance(op, AllReduceOp):
        return op.reduction_axes.data
    return sort_and_merge((axis for own in op.reduce_scatter_axes.data for axis in own), mesh)


def _first_sum(value: SSAValue) -> AllReduceOp | ReduceScatterOp | None:
    """Return the first sum that a value reaches through collectives, pads and slices only."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, AllReduceOp | ReduceScatterOp) and user.kind is ReductionKind.SUM:
            return user
        if isinstance(user, CollectiveOp | PadOp | SliceOp) and (found := _first_sum(user.results[0])) is not None:
            return found
    return None


def _is_partial(op: Operation, rule: OpShardingRule) -> bool:
    """Return whether a dim that the op reduces is sharded."""
    for operand, mapping in zip(op.operands, rule.operands, strict=True):
        sharding = sharding_of(operand)
        for dim, factors in zip(() if sharding is None else sharding.dims, mapping, strict=False):
            if dim.axes and set(factors).intersection(rule.reduction):
                return True
    return False
