"""The groups of devices of a collective, and the bytes that each device sends in it, with ring algorithms.

With k devices in a group and a local result of b bytes, a ring all-gather sends all but one of k shards of b / k bytes,
an all-reduce is a reduce-scatter followed by an all-gather, and an all-to-all keeps one of k parts. Each device passes
on all b bytes of a broadcast, or of a reduction to one device, part by part.
Source: ring bounds.
"""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import collective_kind
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.stablehlo.calls import ragged_all_to_all_groups
from sdy.model.collective import CollectiveKind
from sdy.model.mesh import Mesh


def bytes_sent(kind: CollectiveKind, group_size: int, result_bytes: float) -> float:
    """Return the bytes that each device of a group of `group_size` sends.

    `result_bytes` is the size of the result on one device.

    >>> bytes_sent(CollectiveKind.ALL_REDUCE, group_size=4, result_bytes=1024)
    1536.0
    >>> bytes_sent(CollectiveKind.REDUCE_SCATTER, group_size=4, result_bytes=256)
    768.0
    """
    others = group_size - 1
    match kind:
        case CollectiveKind.ALL_GATHER | CollectiveKind.ALL_TO_ALL:
            return others / group_size * result_bytes
        case CollectiveKind.ALL_REDUCE:
            return 2 * others / group_size * result_bytes
        case CollectiveKind.REDUCE_SCATTER:
            return float(others * result_bytes)
        case CollectiveKind.COLLECTIVE_BROADCAST | CollectiveKind.COLLECTIVE_REDUCE:
            return float(result_bytes * (others > 0))
        case CollectiveKind.COLLECTIVE_PERMUTE:
            return float(result_bytes)


DeviceGroup = tuple[int, ...]  # device ids


def groups_of(op: Operation, mesh: Mesh) -> tuple[DeviceGroup, ...]:
    """Return the device ids of each group; (source, target) pairs for a collective-permute.

    Without groups in the op, all devices are one group, or send to the next one. A -1, which pads a short group, is
    dropped.

    Raises: SdyError SDY-T210 if a device is not in the mesh.
    """
    table = group_table(op)
    rows = () if table is None else group_rows(table)
    devices = mesh.devices()
    known = frozenset(devices) if mesh.device_ids else devices
    unknown = {device for row in rows for device in row if device not in known}
    if unknown:
        message = f"collective refers to device {min(unknown)}, but the mesh has {len(devices)} devices"
        raise SdyError(Diagnostic("SDY-T210", message, span_of(op), hint="define an sdy.mesh of all devices"))
    listed = tuple(mesh.listed_devices())
    is_permute = collective_kind(type(op)) is CollectiveKind.COLLECTIVE_PERMUTE
    return rows or (tuple(zip(listed, (*listed[1:], listed[0]), strict=True)) if is_permute else (listed,))


def group_table(op: Operation) -> DenseElementsAttr | None:
    """Return the table of groups, or of (source, target) pairs, of a collective; None if it lists none."""
    table = op.properties.get("replica_groups", op.properties.get("source_target_pairs"))
    return table if isinstance(table, DenseElementsAttr) else ragged_all_to_all_groups(op)


def group_rows(table: DenseElementsAttr) -> tuple[DeviceGroup, ...]:
    """Return the rows of a table of devices, without padding."""
    count, size = table.type.get_shape()
    numbers = table.get_ints()
    rows = (numbers[row * size : (row + 1) * size] for row in range(count))
    return tuple(tuple(number for number in row if number >= 0) for row in rows)
