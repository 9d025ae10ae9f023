"""Compute ops that cannot run on padded tensors on tensors without padding instead.

Before reshards, operands are trimmed and results are padded again. After reshards, operands are gathered, every device
computes all of the results, and keeps its shard.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from sdy.dialects.sdy.collectives import ReplicatedToUnreducedOp
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.model.rule import OpShardingRule
from sdy.model.sharding_update import fully_closed_like
from sdy.partitioner.emit.emitter import Emitter, with_shape
from sdy.partitioner.padding.facts import is_static
from sdy.partitioner.padding.padder import Padder
from sdy.partitioner.padding.partial import following_sum, summed_axes
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
    mesh = padder.facts.mesh(sharding)
    assert mesh is not None  # verified
    axes = summed_axes(following, mesh)
    set_sharding(total, sharding)
    unreduced = ReplicatedToUnreducedOp(total, axes, replace(sharding, unreduced=axes))
    return padder.collective_result(emit, unreduced, total)
