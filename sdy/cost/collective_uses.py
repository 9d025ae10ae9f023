"""The collectives that the devices of a local program run: all of its communication."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.cost.collectives import CollectiveKind
from sdy.cost.device_groups import groups_of
from sdy.cost.machine_layout import GroupAxes
from sdy.cost.traffic import traffic_of
from sdy.dialects.stablehlo.attributes.types import as_tensor
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
