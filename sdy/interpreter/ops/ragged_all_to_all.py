"""The kernel of `ragged_all_to_all`, with which each device sends as many rows to each device of its group as it likes.

A device has the start and the number of the rows that it sends to each device, in group order, and the row of the
result of that device where they belong. The other rows of a result are those of the second operand.
Source: `jax.lax.ragged_all_to_all`.
"""

from __future__ import annotations

import numpy as np

from sdy.dialects.stablehlo.call_targets import RAGGED_ALL_TO_ALL, ragged_all_to_all_groups
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.arrays.elements import array_of
from sdy.interpreter.devices.replica_groups import GroupingStrategy, ReplicaGroups, layout_of
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext
from sdy.interpreter.ops.collectives import grid_of_devices

OPERANDS = 6  # rows, result, starts, sizes, places, and the sizes that each device receives


def ragged_all_to_all(op: CustomCallOp) -> Kernel:
    """Send rows between the devices of each group."""
    table = ragged_all_to_all_groups(op)
    if table is None or len(op.operands) != OPERANDS:
        raise failure("SDY-X108", f"@{RAGGED_ALL_TO_ALL} needs {OPERANDS} operands and replica_groups")
    groups = ReplicaGroups(tuple(map(tuple, array_of(table.data).tolist())), GroupingStrategy.FLATTENED_IDS)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        layout = layout_of(groups, grid_of_devices(context))
        rows, result, starts, sizes, places, _ = (layout.gather_members(array) for array in arrays)
        result = result.copy()
        for group in np.ndindex(result.shape[: layout.group_rank]):
            _send(rows[group], result[group], starts[group], sizes[group], places[group])
        return (layout.to_each_member(result),)

    return kernel


def _send(rows: Array, result: Array, starts: Array, sizes: Array, places: Array) -> None:
    """Write the rows that each member of a group sends to the results of the members."""
    count = len(rows)
    for sender in range(count):
        for index, (start, size, place) in enumerate(zip(starts[sender], sizes[sender], places[sender], strict=True)):
            receiver = index * count // len(starts[sender])
            _check_range("operand", sender, start, size, rows.shape[1])
            _check_range("result", receiver, place, size, result.shape[1])
            result[receiver, place : place + size] = rows[sender, start : start + size]


def _check_range(what: str, member: int, start: int, size: int, count: int) -> None:
    if not 0 <= start <= start + size <= count:
        message = f"rows {start} to {start + size} of the {what} of member {member}, which has {count} rows"
        raise failure("SDY-X108", f"@{RAGGED_ALL_TO_ALL} sends {message}")
