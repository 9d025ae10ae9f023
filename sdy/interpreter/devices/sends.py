"""Runs the plan of a reshard between meshes: each send copies a part of what a device holds to another device."""

from __future__ import annotations

from math import prod

import numpy as np

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import grid_of_mesh
from sdy.interpreter.devices.values import DeviceArray, stacked
from sdy.model.devices.boxes import Box, is_within
from sdy.model.devices.reshard_plan import ReshardPlan, Send, mesh_of, shards_of
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding


def resharded(plan: ReshardPlan, value: DeviceArray, mesh: Mesh) -> DeviceArray:
    """Return what the devices of the target hold after the sends of a plan; they are numbered as in `mesh`.

    `value` is what the devices of the source hold: it has the positions of the plan's source mesh. Padding is 0.
    """
    full = np.broadcast_to(value.array, value.grid.sizes + value.local_shape)
    blocks = full.reshape((-1, *value.local_shape))
    source_sizes = shards_of(plan.source, plan.shape).sizes
    held = _Holdings(plan.source, plan.shape)
    for device, block in zip(mesh_of(plan.source).listed_devices(), blocks, strict=True):
        held.arrays[device] = block.reshape(source_sizes)
    received = _Holdings(plan.target, plan.shape)
    target_sizes = shards_of(plan.target, plan.shape).sizes
    devices = mesh_of(plan.target).listed_devices()
    for device in devices:
        received.arrays[device] = np.zeros(target_sizes, value.array.dtype)
    for send in (*plan.copies, *sorted(plan.sends, key=lambda each: each.round)):
        holder = held if held.has(send) else received
        received.part(send.target, send.box)[...] = holder.part(send.source, send.box)
    local = target_sizes[len(target_sizes) - len(value.local_shape) :]
    arrays = np.stack([received.arrays[device].reshape(local) for device in devices])
    grid = grid_of_mesh(mesh)
    return stacked(arrays if prod(grid.sizes) > 1 else arrays[:1], grid)


class _Holdings:
    """The shards that devices hold, and where they are in the tensor."""

    def __init__(self, sharding: TensorSharding, shape: tuple[int, ...]) -> None:
        self.arrays: dict[int, Array] = {}
        found = shards_of(sharding, shape).devices.items()
        self._boxes: dict[int, Box] = {device: box for box, devices in found for device in devices}

    def has(self, send: Send) -> bool:
        """Return whether the sender of a part holds it as part of its shard."""
        box = self._boxes.get(send.source)
        return box is not None and is_within(send.box, box)

    def part(self, device: int, box: Box) -> Array:
        """Return a view of a part of the tensor that a device holds."""
        places = zip(box, self._boxes[device], strict=True)
        slices = (slice(low - first, high - first) for (low, high), (first, _) in places)
        return self.arrays[device][(*slices, ...)]  # with an ellipsis, a scalar is a view too
