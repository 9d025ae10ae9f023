"""Runs a program of several meshes on simulated devices: fragments on those of their mesh, and transfers between them.

%1 = mpmd.fragment_call<mesh="m1", origin=["f"]> @p0_f.main(%0)   runs module @p0_f.main on the devices of m1
%2 = mpmd.transfer %1 : (M1) -> M2                                copies parts of shards to the devices of m2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from sdy.dialects.ir.symbols import main_function
from sdy.interpreter.devices.grid import Grid, grid_of_mesh
from sdy.interpreter.devices.sends import resharded
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.run import RunSettings, run_spmd
from sdy.model.mesh import Mesh
from sdy.mpmd.dialect.ops import FragmentCallOp, TransferOp
from sdy.mpmd.execution.mesh_layout import MeshLayout


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
