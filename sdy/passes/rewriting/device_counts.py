"""The options `replica-count` and `partition-count`: how a local program numbers devices.

Source: docs/spec/06, 0.4 and 0.7.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.attributes.attrs import ChannelHandleAttr
from sdy.partitioner.emit.emitter import Channels, Style


def device_style(module: ModuleOp, replica_count: int, partition_count: int) -> Style:
    """Return how a module numbers devices and new channels.

    Raises: SdyError SDY-L004 if both counts are greater than 1.
    """
    if replica_count > 1 and partition_count > 1:
        message = f"replica-count or partition-count must be 1, got {replica_count} and {partition_count}"
        hint = "devices are either replicas or partitions"
        raise SdyError(Diagnostic("SDY-L004", message, span_of(module), hint=hint))
    return Style(counts_replicas=replica_count > 1, channels=Channels(last_channel(module)))


def last_channel(module: ModuleOp) -> int:
    """Return the highest channel id in the module; 0 if no op uses a channel."""
    handles = ({**op.properties, **op.attributes}.get("channel_handle") for op in pre_order(module))
    return max((each.data.handle for each in handles if isinstance(each, ChannelHandleAttr)), default=0)
