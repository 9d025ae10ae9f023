"""The traffic between the devices of a local program.

Source: ring algorithms, see `sdy.cost.collectives`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.cost.collectives import CollectiveKind, bytes_sent
from sdy.cost.executions import executions
from sdy.cost.tensor_bytes import tensor_bytes
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo import collectives as ops

COLLECTIVE_KINDS: dict[type[Operation], CollectiveKind] = {
    ops.AllGatherOp: CollectiveKind.ALL_GATHER,
    ops.AllReduceOp: CollectiveKind.ALL_REDUCE,
    ops.AllToAllOp: CollectiveKind.ALL_TO_ALL,
    ops.CollectivePermuteOp: CollectiveKind.COLLECTIVE_PERMUTE,
    ops.ReduceScatterOp: CollectiveKind.REDUCE_SCATTER,
}


@dataclass(frozen=True, slots=True)
class Traffic:
    """One collective of a local program: how often it runs, and the bytes that each device sends per run."""

    op: Operation
    kind: CollectiveKind
    times: int
    bytes_per_run: float


def traffic_of(local: ModuleOp) -> Iterator[Traffic]:
    """Yield the collectives that a local program runs, in program order.

    A collective in a function that is called several times is yielded once per call.
    """
    for op, times in executions(local):
        kind = COLLECTIVE_KINDS.get(type(op))
        if kind is not None:
            result_bytes = sum(tensor_bytes(result.type) for result in op.results)
            yield Traffic(op, kind, times, bytes_sent(kind, group_size(op), result_bytes))


def group_size(op: Operation) -> int:
    """Return the group size of a collective whose groups consist of device numbers, as in partitioned programs."""
    groups = op.properties.get("replica_groups")
    if not isinstance(groups, DenseElementsAttr):
        return 1
    _, size = groups.type.get_shape()
    return max(1, size)
