"""Fuse a permute with the all-to-all before or after it into one all-to-all of larger groups.

    before  %1 = "stablehlo.collective_permute"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
            %2 = "stablehlo.all_to_all"(%1) {2 devices, from dim 1 to dim 0} : (tensor<4x4xf32>) -> tensor<8x2xf32>
    after   %1 = stablehlo.concatenate %0, %0, dim = 1
            %2 = "stablehlo.all_to_all"(%1) {4 devices, from dim 1 to dim 0} : (tensor<4x8xf32>) -> tensor<16x2xf32>
            %3 = stablehlo.dynamic_slice %2, (the half that this device keeps) : tensor<8x2xf32>

Sends no more bytes than both, and keeps the peak memory of the block.
Requires and ensures: the program of one device.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from sdy.cost.collectives import group_rows
from sdy.cost.memory import PeakFinder, bytes_of_tensor
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.context import remark
from sdy.dialects.ir.walk import block_of
from sdy.dialects.stablehlo.attributes.attrs import has_channel
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.collectives import AllToAllOp, CollectivePermuteOp
from sdy.partitioner.combining.exchanges import Exchange, permuted_after, permuted_before
from sdy.partitioner.emit.collective_ops import device_table
from sdy.partitioner.emit.device_position import own_entry
from sdy.partitioner.emit.emitter import Emitter, Style, with_shape
from sdy.partitioner.emit.slices import slice_at
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import forget_order, op_order


class FusePermutesPass(ModulePass):
    """Fuse permutes with all-to-alls."""

    name = "sdy-fuse-permutes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit every permute and the ops before and after it."""
        found = map(_pair_of, op_order(op).of(CollectivePermuteOp))
        pairs = {pair.all_to_all: pair for pair in found if pair is not None}  # at most one permute per all-to-all
        if not pairs:
            return
        peaks = PeakFinder(op, bytes_of_tensor, is_compiled=False)
        for pair in [pair for pair in pairs.values() if _has_room(pair, peaks)]:
            _remark(ctx, pair)
            _fuse(pair)
        forget_order(op)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two collectives; the second is the only user of the first."""

    first: Operation
    second: Operation
    all_to_all: AllToAllOp
    exchange: Exchange


def _pair_of(permute: CollectivePermuteOp) -> _Pair | None:
    """Return a permute with the all-to-all after it, else with the one before it; None if there is none."""
    before, behind = permute.operand.owner, _only_user(permute.result)
    if isinstance(behind, AllToAllOp) and (exchange := _exchange(permute, behind)) is not None:
        return _Pair(permute, behind, behind, exchange)
    if isinstance(before, AllToAllOp) and _only_user(permute.operand) is permute:
        exchange = _exchange(permute, before)
        return None if exchange is None else _Pair(before, permute, before, exchange)
    return None


def _only_user(value: SSAValue) -> Operation | None:
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 and uses[0].operation.parent is block_of(value) else None


def _exchange(permute: CollectivePermuteOp, all_to_all: AllToAllOp) -> Exchange | None:
    """Return the exchange that does both, if both are of one tensor and between devices of one kind."""
    groups = all_to_all.replica_groups
    if len(all_to_all.inputs) != 1 or not isinstance(groups, DenseElementsAttr):
        return None
    rows = group_rows(groups)
    if any(len(row) != all_to_all.split_count.value.data for row in rows):
        return None
    if has_channel(permute) != has_channel(all_to_all):
        return None
    both = permuted_before if all_to_all.inputs[0] is permute.result else permuted_after
    return both(rows, [(source, target) for source, target in group_rows(permute.source_target_pairs)])


def _has_room(pair: _Pair, peaks: PeakFinder) -> bool:
    """Return whether memory suffices for a second copy of operand and result of the all-to-all."""
    block = pair.first.parent
    assert block is not None  # in a function
    ops = list(block.ops)
    uses = peaks.uses(block)
    around = max(uses[ops.index(op)].around for op in (pair.first, pair.second))
    more = 2 * (pair.exchange.halves - 1) * bytes_of_tensor(pair.first.operands[0])
    return around + more <= peaks.of_block(block).bytes


def _fuse(pair: _Pair) -> None:
    """Replace both collectives of a pair by one all-to-all."""
    old, exchange = pair.all_to_all, pair.exchange
    emit = Emitter(pair.second, Style(counts_replicas=not has_channel(old)))
    value, halves = pair.first.operands[0], exchange.halves
    split, concat = old.split_dimension.value.data, old.concat_dimension.value.data
    sent = emit.concatenate([value] * halves, split) if halves > 1 else value
    sizes = list(shape_of(old.result[0]))
    sizes[concat] *= halves
    properties = {
        **old.properties,
        "split_count": IntegerAttr(len(exchange.groups[0]), i64),
        "replica_groups": device_table(exchange.groups),
    }
    received = emit.value(AllToAllOp, [sent], with_shape(value, sizes), properties)
    kept = _kept(emit, received, concat, exchange) if halves > 1 else received
    pair.second.results[0].replace_all_uses_with(kept)
    erase(pair.second)
    erase(pair.first)


def _kept(emit: Emitter, received: SSAValue, dim: int, exchange: Exchange) -> SSAValue:
    """Return the half along `dim` that this device keeps."""
    sizes = list(shape_of(received))
    sizes[dim] //= exchange.halves
    start = own_entry(emit, [half * sizes[dim] for half in exchange.kept])
    zero = emit.index(0)
    return slice_at(emit, received, [start if each == dim else zero for each in range(len(sizes))], sizes)


def _remark(ctx: Context, pair: _Pair) -> None:
    message = f"fused {pair.first.name} and {pair.second.name} into one all-to-all"
    remark(ctx, "SDY-L125", message, pair.second)
