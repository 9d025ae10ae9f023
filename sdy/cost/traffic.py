"""The collectives that the devices of a local program run, and the traffic between the devices.

Source: ring algorithms, see `sdy.cost.collectives`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.cost.collectives import CollectiveKind, bytes_sent, group_table, groups_of
from sdy.cost.executions import executions
from sdy.cost.machine_layout import GroupAxes
from sdy.dialects.facts.traits import collective_kind
from sdy.dialects.sharded_types import tensor_bytes
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.calls import is_ragged_all_to_all
from sdy.model.axis import AxisList
from sdy.model.mesh import Mesh
from sdy.model.shape import StaticShape


@dataclass(frozen=True, slots=True)
class CollectiveUse:
    """A run of a collective along `axes`. One that was combined from several has the shapes of several results."""

    kind: CollectiveKind
    axes: AxisList
    local_shapes: tuple[StaticShape, ...]
    bytes_per_device: float  # sent by each device


def collectives_of(local: ModuleOp, mesh: Mesh) -> Counter[CollectiveUse]:
    """Return how often each collective of a local program runs in one run of the main function, in program order.

    A collective in a loop counts once per trip; a loop without a static trip count counts as one trip.
    Raises: SdyError SDY-T210 if a collective refers to a device that is not in the mesh.
    """
    counts = Counter[CollectiveUse]()
    for _, use, times in executed_collectives(local, mesh):
        counts[use] += times
    return counts


def executed_collectives(local: ModuleOp, mesh: Mesh) -> Iterator[tuple[Operation, CollectiveUse, int]]:
    """Yield each collective that the main function runs, with its op and how often it runs, in program order.

    A collective in a function that is called several times is yielded once per call. Raises: as `collectives_of`.
    """
    axes = GroupAxes(mesh)
    for each in traffic_of(local):
        tensors = (as_tensor(result.type) for result in each.op.results)
        shapes = tuple(tensor.get_shape() for tensor in tensors if tensor is not None)
        use = CollectiveUse(each.kind, axes.axes_of(groups_of(each.op, mesh)), shapes, each.bytes_per_run)
        yield each.op, use, each.times


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
        kind = kind_of(op)
        if kind is not None:
            yield Traffic(op, kind, times, bytes_sent(kind, group_size(op), result_bytes(op)))


class Sends(NamedTuple):
    """The bytes that each device sends in a run of a local program, and the number of runs of collectives."""

    bytes: float
    runs: int


def sends_of(local: ModuleOp) -> Sends:
    """Return what each device sends in a run of a local program."""
    found = list(traffic_of(local))
    return Sends(sum(each.times * each.bytes_per_run for each in found), sum(each.times for each in found))


def kind_of(op: Operation) -> CollectiveKind | None:
    """Return the kind of a collective of a local program; None for other ops."""
    return CollectiveKind.ALL_TO_ALL if is_ragged_all_to_all(op) else collective_kind(type(op))


def result_bytes(op: Operation) -> float:
    """Return the bytes of the results of a collective.

    Of the rows of a `ragged_all_to_all`, of which each device sends as many as it likes, all count.
    """
    if is_ragged_all_to_all(op):
        return tensor_bytes(op.operands[0].type)
    return sum(tensor_bytes(result.type) for result in op.results)


def group_size(op: Operation) -> int:
    """Return the group size of a collective whose groups consist of device numbers, as in partitioned programs."""
    groups = group_table(op)
    return 1 if groups is None else max(1, groups.type.get_shape()[1])
