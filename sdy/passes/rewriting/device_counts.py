"""The options of passes whose programs ask which device they run on.

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
    """How devices are named, and new channels numbered, in a module.

    Raises: SdyError SDY-L004 where both counts are more than 1.
    """
    if replica_count > 1 and partition_count > 1:
        message = f"replica-count={replica_count} and partition-count={partition_count}: one must be 1"
        raise SdyError(Diagnostic("SDY-L004", message, span_of(module), hint="devices are replicas or partitions"))
    return Style(counts_replicas=replica_count > 1, channels=Channels(last_channel(module)))


def last_channel(module: ModuleOp) -> int:
    """The highest channel that an op of the module uses; 0 where none does."""
    handles = ({**op.properties, **op.attributes}.get("channel_handle") for op in pre_order(module))
    return max((each.data.handle for each in handles if isinstance(each, ChannelHandleAttr)), default=0)
