"""Runs a program of several meshes on simulated devices: fragments on those of their mesh, and transfers between them.

%1 = mpmd.fragment_call<mesh="m1", origin=["f"]> @p0_f.main(%0)   runs module @p0_f.main on the devices of m1
%2 = mpmd.transfer %1 : (M1) -> M2                                copies parts of shards to the devices of m2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from sdy.dialects.ir.symbols import main_function
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import Grid, grid_of_mesh
from sdy.interpreter.devices.values import DeviceArray, stacked
from sdy.interpreter.run import RunSettings, run_spmd
from sdy.model.devices.boxes import Box, is_within
from sdy.model.devices.reshard_plan import ReshardPlan, Send, mesh_of, shards_of
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.mpmd.dialect.ops import FragmentCallOp, TransferOp
from sdy.mpmd.execution.fragment_programs import MeshLayout


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


@dataclass(frozen=True)
class DeviceRun:
    """A run of the calls and transfers of a block. `programs` has the local program of each fragment, and its mesh.

    All fragments share the host of the settings, which counts iterations, and draws random numbers.
    """

    layout: MeshLayout
    programs: Mapping[str, tuple[ModuleOp, Mesh]]
    settings: RunSettings

    def results(self, block: Block, arguments: Sequence[DeviceArray]) -> list[DeviceArray]:
        """Run the ops in program order, and return what devices hold of the values that the block returns.

        What no later op uses is freed. Raises: SdyError at an op that cannot be run.
        """
        values: dict[SSAValue, DeviceArray] = dict(zip(block.args, arguments, strict=True))
        last_uses = {operand: op for op in block.ops for operand in op.operands}
        operands: list[DeviceArray] = []
        for op in block.ops:
            operands = [values[operand] for operand in op.operands]
            for operand in set(op.operands):
                if last_uses[operand] is op:
                    del values[operand]
            if isinstance(op, FragmentCallOp):
                values |= zip(op.results, self._fragment(op, operands), strict=True)
            elif isinstance(op, TransferOp):
                values[op.result] = self._moved(op, operands[0])
        return operands  # of the terminator

    def _fragment(self, call: FragmentCallOp, operands: Sequence[DeviceArray]) -> list[DeviceArray]:
        module, mesh = self.programs[call.callee_name]
        name = main_function(module).sym_name.data
        return run_spmd(module, operands, grid_of_mesh(mesh), name, settings=self.settings)

    def _moved(self, transfer: TransferOp, value: DeviceArray) -> DeviceArray:
        target = self.layout.placement(transfer.result).mesh
        if not self.layout.keeps_positions(transfer):
            return resharded(self.layout.plan(transfer), value, target)
        grid = value.grid
        return DeviceArray(
            value.array, Grid(grid.sizes, grid.replica_count, grid.partition_count, grid_of_mesh(target).device_ids)
        )
