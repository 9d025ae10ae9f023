"""Collectives with one operand each, as XLA wants them.

XLA does not read a collective of several operands inside of a `shard_map`: it takes the sharding of the tuple that such
an op returns for that of each result. Its own combiner puts collectives together later on.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.collectives import AllGatherOp, AllReduceOp
from sdy.partitioner.emit.emitter import Channels
from sdy.passes.rewriting.device_counts import last_channel
from sdy.passes.rewriting.insertion import erase, insert_before

Combined = AllGatherOp | AllReduceOp


def take_apart(module: ModuleOp) -> None:
    """Put collectives of one operand in the place of those with several, each on a channel of its own."""
    channels = Channels(last_channel(module))
    for op in pre_order(module):
        if isinstance(op, Combined) and len(op.result) > 1:
            _take_apart(op, channels)


def _take_apart(op: Combined, channels: Channels) -> None:
    for operand, result in zip(op.inputs, op.result, strict=True):
        properties = dict(op.properties)
        if op.channel_handle is not None:
            properties["channel_handle"] = channels.next_handle()
        one = type(op).create(
            operands=[operand],
            result_types=[result.type],
            properties=properties,
            attributes=op.attributes,
            regions=[region.clone() for region in op.regions],
        )
        insert_before(op, one)
        replace_uses(result, one.results[0])
    erase(op)
