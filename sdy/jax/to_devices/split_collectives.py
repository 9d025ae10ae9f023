"""Splits collectives with several operands into collectives with one operand each.

XLA does not support collectives with several operands inside of a `shard_map`: it uses the sharding of their tuple
result for each of the results. XLA combines collectives again later.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.collectives import CombinableOp
from sdy.partitioner.emit.emitter import Channels
from sdy.passes.rewriting.device_counts import last_channel
from sdy.passes.rewriting.insertion import erase, insert_before


def split_combined_collectives(module: ModuleOp) -> None:
    """Replace each collective with several operands by one collective per operand, each on a separate channel."""
    channels = Channels(last_channel(module))
    for op in pre_order(module):
        if isinstance(op, CombinableOp) and len(op.result) > 1:
            _split(op, channels)


def _split(op: CombinableOp, channels: Channels) -> None:
    for operand, result in zip(op.inputs, op.result, strict=True):
        properties = dict(op.properties)
        if op.channel_handle is not None:
            properties["channel_handle"] = channels.next_handle()
        single = type(op).create(
            operands=[operand],
            result_types=[result.type],
            properties=properties,
            attributes=op.attributes,
            regions=[region.clone() for region in op.regions],
        )
        insert_before(op, single)
        replace_uses(result, single.results[0])
    erase(op)
