"""Padding of collectives: dims are padded where they become cut, and trimmed where they become whole.

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
from sdy.partitioner.padding.padder import Padder, Rule, is_static

RULES = OpTable[Rule]()


@RULES.of(ops.AllReduceOp, ops.CollectivePermuteOp, ops.ReplicatedToUnreducedOp)
def same_cuts(op: ops.CollectiveOp) -> Rule:
    """The number of pieces of each dim stays, so the padding does."""

    def pad(padder: Padder) -> None:
        padder.resize(op.result, shape_of(op.tensor))

    return pad


@RULES.of(ops.AllSliceOp, ops.AllGatherOp, ops.AllToAllOp, ops.ReduceScatterOp, ops.ShardedToUnreducedOp)
def other_cuts(op: ops.CollectiveOp) -> Rule:
    """Pad what becomes cut, trim what becomes whole; where padding would have to move between shards, gather first."""

    def pad(padder: Padder) -> None:
        before, after = padder.cuts(op.tensor), tuple(dim.axes for dim in op.out_sharding.data.dims)
        even = padder.even_sizes(padder.true_sizes(op.tensor), op.out_sharding.data)
        current = shape_of(op.tensor)
        dims = range(len(after))
        if any(before[d] and after[d] and current[d] != even[d] for d in dims):
            _cut_anew(op, before, after, padder)
            return
        emit = padder.emitter(op)
        was_zero = padder.is_zero_padded(op.tensor)
        true_sizes = padder.true_sizes(op.tensor)
        grown = padder.grown(
            emit, op.tensor, tuple(even[d] if after[d] and not before[d] else current[d] for d in dims)
        )
        becomes_whole = [d for d in dims if before[d] and not after[d] and current[d] != true_sizes[d]]
        op.operands[0] = grown
        if not becomes_whole:
            padder.resize(op.result, shape_of(grown), is_zero=was_zero)
            return
        moved = op.clone()
        moved.location = op.location
        assert op.parent is not None
        op.parent.insert_op_before(moved, op)
        padder.resize(moved.results[0], shape_of(grown))
        result = padder.note(moved.results[0], true_sizes, is_zero=was_zero)
        padder.replace(op, padder.shrunk(emit, result, becomes_whole))

    return pad


@RULES.of(ReshardOp)
def reshard(op: ReshardOp) -> Rule:
    """A reshard that no collective stands for: between devices and meshes, or between equal layouts."""

    def pad(padder: Padder) -> None:
        if not is_static(op.input):
            return
        even = padder.even_sizes(padder.true_sizes(op.input), op.sharding.data)
        if even == shape_of(op.input):
            padder.resize(op.result, even, is_zero=padder.is_zero_padded(op.input))
            return
        emit = padder.emitter(op)
        whole = padder.gathered(emit, op.input, range(len(even)))
        padder.replace(op, padder.sliced_into(emit, whole, op.sharding.data, range(len(even))))

    return pad


def _cut_anew(op: ops.CollectiveOp, before: tuple[AxisList, ...], after: tuple[AxisList, ...], padder: Padder) -> None:
    """Do what `op` does by making whole the dims that it changes, and cutting them again with other padding."""
    if isinstance(op, ops.ShardedToUnreducedOp):
        raise padder.refuse(op, op.tensor)
    emit = padder.emitter(op)
    value = _reduced(op, emit, padder) if isinstance(op, ops.ReduceScatterOp) else op.tensor
    changed = [dim for dim, axes in enumerate(before) if axes != after[dim]]
    whole = padder.gathered(emit, value, changed)
    padder.replace(op, padder.sliced_into(emit, whole, op.out_sharding.data, changed))


def _reduced(op: ops.ReduceScatterOp, emit: Emitter, padder: Padder) -> SSAValue:
    """The operand with the partial values combined on every device."""
    sharding: TensorSharding = sharding_of(op.tensor) or fully_closed_like(op.out_sharding.data)
    axes = tuple(ref for own in op.reduce_scatter_axes.data for ref in own)
    mesh = padder.mesh(sharding)
    assert mesh is not None  # verified
    sharding = replace(sharding, unreduced=set_difference(sharding.unreduced, axes, mesh))
    assert op.kind is not None  # verified
    model: Operation = ops.AllReduceOp(op.tensor, axes, sharding, op.kind)
    result = emit.value(ops.AllReduceOp, [op.tensor], op.tensor.type, model.properties)
    model.erase()
    return padder.note(result, padder.true_sizes(op.tensor))
