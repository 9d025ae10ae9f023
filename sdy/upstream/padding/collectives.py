"""Padding rules of collectives: pad dims that become sharded, trim dims that become unsharded.

Source: docs/spec/06, 2.6 and 8.2 (G44, G45).
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy import collectives as ops
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.model.axis import AxisList
from sdy.model.axis_list import set_difference
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed_like
from sdy.partitioner.emit.emitter import Emitter
from sdy.partitioner.padding.facts import is_static
from sdy.partitioner.padding.padder import Padder, Rule, padding_error

RULES = OpTable[Rule]()


@RULES.of(ops.AllReduceOp, ops.CollectivePermuteOp, ops.ReplicatedToUnreducedOp)
def unchanged_shard_counts(op: ops.CollectiveOp) -> Rule:
    """Keep the padding: no dim changes its number of shards."""

    def pad(padder: Padder) -> None:
        padder.resize(op.result, shape_of(op.tensor))

    return pad


@RULES.of(ops.AllSliceOp, ops.AllGatherOp, ops.AllToAllOp, ops.ReduceScatterOp, ops.ShardedToUnreducedOp)
def changed_shard_counts(op: ops.CollectiveOp) -> Rule:
    """Pad dims that become sharded, trim dims that become unsharded; gather first if padding would change shards."""

    def pad(padder: Padder) -> None:
        before, after = padder.facts.dim_axes(op.tensor), tuple(dim.axes for dim in op.out_sharding.data.dims)
        even = padder.facts.even_sizes(padder.facts.true_sizes(op.tensor), op.out_sharding.data)
        current = shape_of(op.tensor)
        dims = range(len(after))
        if any(before[d] and after[d] and current[d] != even[d] for d in dims):
            _gather_and_slice(op, before, after, padder)
            return
        emit = padder.emitter(op)
        was_zero = padder.facts.is_zero_padded(op.tensor)
        true_sizes = padder.facts.true_sizes(op.tensor)
        extended = padder.extended(
            emit, op.tensor, tuple(even[d] if after[d] and not before[d] else current[d] for d in dims)
        )
        becomes_unsharded = [d for d in dims if before[d] and not after[d] and current[d] != true_sizes[d]]
        op.operands[0] = extended
        if not becomes_unsharded:
            padder.resize(op.result, shape_of(extended), is_zero=was_zero)
            return
        moved = op.clone()
        moved.location = op.location
        assert op.parent is not None
        op.parent.insert_op_before(moved, op)
        padder.resize(moved.results[0], shape_of(extended))
        result = padder.facts.record(moved.results[0], true_sizes, is_zero=was_zero)
        padder.replace(op, padder.trimmed_along(emit, result, becomes_unsharded))

    return pad


@RULES.of(ReshardOp)
def reshard(op: ReshardOp) -> Rule:
    """Reshard between devices or meshes, or between equal layouts; gather and slice if the padding changes."""

    def pad(padder: Padder) -> None:
        if not is_static(op.input):
            return
        even = padder.facts.even_sizes(padder.facts.true_sizes(op.input), op.sharding.data)
        if even == shape_of(op.input):
            padder.resize(op.result, even, is_zero=padder.facts.is_zero_padded(op.input))
            return
        emit = padder.emitter(op)
        gathered = padder.gathered(emit, op.input, range(len(even)))
        padder.replace(op, padder.sliced(emit, gathered, op.sharding.data, range(len(even))))

    return pad


def _gather_and_slice(
    op: ops.CollectiveOp, before: tuple[AxisList, ...], after: tuple[AxisList, ...], padder: Padder
) -> None:
    """Replace `op`: gather the dims that it changes, and slice them again with another padding."""
    if isinstance(op, ops.ShardedToUnreducedOp):
        raise padding_error(op, op.tensor, padder.facts)
    emit = padder.emitter(op)
    value = _reduced(op, emit, padder) if isinstance(op, ops.ReduceScatterOp) else op.tensor
    changed = [dim for dim, axes in enumerate(before) if axes != after[dim]]
    gathered = padder.gathered(emit, value, changed)
    padder.replace(op, padder.sliced(emit, gathered, op.out_sharding.data, changed))


def _reduced(op: ops.ReduceScatterOp, emit: Emitter, padder: Padder) -> SSAValue:
    """Return the operand after an all-reduce of its partial values."""
    sharding: TensorSharding = sharding_of(op.tensor) or fully_closed_like(op.out_sharding.data)
    axes = tuple(ref for own in op.reduce_scatter_axes.data for ref in own)
    mesh = padder.facts.mesh(sharding)
    assert mesh is not None  # verified
    sharding = replace(sharding, unreduced=set_difference(sharding.unreduced, axes, mesh))
    assert op.kind is not None  # verified
    model: Operation = ops.AllReduceOp(op.tensor, axes, sharding, op.kind)
    result = emit.value(ops.AllReduceOp, [op.tensor], op.tensor.type, model.properties)
    model.erase()
    return padder.facts.record(result, padder.facts.true_sizes(op.tensor))
