"""Merge permutes of one value between different devices into one. Equal and overlapping ones are shared first.

    before  %1 = "stablehlo.collective_permute"(%0) {3 to 0}
            %2 = "stablehlo.collective_permute"(%0) {0 to 1, 1 to 2, 2 to 3}
    after   %3 = "stablehlo.collective_permute"(%0) {0 to 1, 1 to 2, 2 to 3, 3 to 0}
            %1 = stablehlo.select %is_device_0, %3, 0
            %2 = stablehlo.select %is_device_1_2_or_3, %3, 0

Devices that receive nothing in one of them get zeros, as before. `jnp.roll` of a sharded dim makes such permutes.
Requires and ensures: the program of one device.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from sdy.cost.collectives import group_rows
from sdy.dialects.ir.context import remark
from sdy.dialects.stablehlo.attributes.attrs import has_channel
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp
from sdy.dialects.stablehlo.slicing import SliceOp
from sdy.partitioner.emit.collective_ops import device_table
from sdy.partitioner.emit.device_position import device_mask, device_number
from sdy.partitioner.emit.emitter import Emitter, Style, tensor_of
from sdy.passes.export.collectives.equal_permutes import share_equal_permutes
from sdy.passes.export.collectives.overlapping_permutes import send_overlaps_once
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import forget_order, op_order


class MergePermutesPass(ModulePass):
    """Share what permutes of one value send twice, and merge permutes whose sources and targets differ."""

    name = "sdy-merge-permutes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Merge each permute with earlier ones of its block."""
        shared = share_equal_permutes(op)
        for permute in shared:
            remark(ctx, "SDY-L126", "this permute is shared by several ops that need the same value", permute)
        if shared:
            forget_order(op)
        sent_once = send_overlaps_once(op)
        for permute in sent_once:
            remark(ctx, "SDY-L126", "this permute sends elements that several ops need once", permute)
        if sent_once:
            forget_order(op)
        alike: defaultdict[Hashable, list[list[CollectivePermuteOp]]] = defaultdict(list)
        for permute in op_order(op).of(CollectivePermuteOp):
            groups = alike[_key(permute)]
            for group in groups:
                if not any(_overlap(permute, other) for other in group):
                    group.append(permute)
                    break
            else:
                groups.append([permute])
        found = [group for groups in alike.values() for group in groups if len(group) > 1]
        for group in found:
            message = f"merged {len(group)} permutes of one value into one"
            remark(ctx, "SDY-L126", message, group[0])
            _merge(group)
        if found:
            forget_order(op)


def _key(permute: CollectivePermuteOp) -> Hashable:
    """Return a key that is equal for permutes of one block that send equal values to devices of one kind."""
    value, sliced = permute.operand, permute.operand.owner
    if isinstance(sliced, SliceOp):
        value = sliced.operand, sliced.start_indices, sliced.limit_indices, sliced.strides
    return permute.parent, has_channel(permute), value


def _overlap(one: CollectivePermuteOp, other: CollectivePermuteOp) -> bool:
    """Return whether a device sends, or receives, in both."""
    pairs = [*_pairs(one), *_pairs(other)]
    return any(len(set(devices)) < len(devices) for devices in zip(*pairs, strict=True))


def _pairs(permute: CollectivePermuteOp) -> list[tuple[int, int]]:
    return [(source, target) for source, target in group_rows(permute.source_target_pairs)]


def _merge(permutes: Sequence[CollectivePermuteOp]) -> None:
    first = permutes[0]
    emit = Emitter(first, Style(counts_replicas=not has_channel(first)))
    pairs = sorted(pair for permute in permutes for pair in _pairs(permute))
    properties = {**first.properties, "source_target_pairs": device_table(pairs)}
    received = emit.value(CollectivePermuteOp, [first.operand], first.result.type, properties)
    number = device_number(emit)
    for permute in permutes:
        targets = [target for _, target in _pairs(permute)]
        permute.result.replace_all_uses_with(_received_by(emit, received, number, targets))
    for permute in permutes:
        erase(permute)


def _received_by(emit: Emitter, value: SSAValue, number: SSAValue, targets: Sequence[int]) -> SSAValue:
    """Return the value on the target devices, and zeros on all others."""
    # The last entry is that of all devices with higher numbers: a slice starts within the table.
    is_target = [int(device in targets) for device in range(max(targets) + 2)]
    tensor = tensor_of(value)
    return emit.select(device_mask(emit, is_target, number, tensor), value, emit.constant(tensor, [0]))
