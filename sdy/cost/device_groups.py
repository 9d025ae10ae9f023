"""Which devices a collective of a local program brings together."""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import span_of
from sdy.model.mesh import Mesh

DeviceGroup = tuple[int, ...]  # device ids


def groups_of(op: Operation, mesh: Mesh) -> tuple[DeviceGroup, ...]:
    """The device ids of each group; of a permutation, pairs of source and target. All devices where none are named.

    A -1 fills up a short group, and is left out. Raises: SdyError SDY-T210 where a device is none of the mesh.
    """
    named = op.properties.get("replica_groups", op.properties.get("source_target_pairs"))
    rows = group_rows(named) if isinstance(named, DenseElementsAttr) else ()
    devices = mesh.devices()
    strange = {device for row in rows for device in row} - set(devices)
    if strange:
        message = f"the collective names device {min(strange)}, and the mesh has {len(devices)} devices"
        raise SdyError(Diagnostic("SDY-T210", message, span_of(op), hint="declare an sdy.mesh of all devices"))
    return rows or (devices,)


def group_rows(table: DenseElementsAttr) -> tuple[DeviceGroup, ...]:
    """The rows of a table of devices, without what fills them up."""
    count, size = table.type.get_shape()
    numbers = table.get_ints()
    rows = (numbers[row * size : (row + 1) * size] for row in range(count))
    return tuple(tuple(number for number in row if number >= 0) for row in rows)
