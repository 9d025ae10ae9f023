"""Lowers a partitioned program on global shapes to the program that each device runs."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.context import SdyContext
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import make_context
from sdy.dialects.sdy.attrs import MeshAttr
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.verification.verify_module import verify_module
from sdy.model.mesh import Mesh
from sdy.passes.export.layers.unfold_layers import UnfoldLayersPass
from sdy.passes.manager.partition_pipelines import LocalPipeline
from sdy.passes.run import run_passes
from sdy.rules.all import RULE_ATTRIBUTE


def local_program(global_module: ModuleOp, context: SdyContext, *, optimize_communication: bool = True) -> ModuleOp:
    """Return the program that each device runs; remarks are added to `context`.

    Raises: SdyError at the first op that cannot run on shards.
    """
    local = copy_with_regions(global_module)
    run_passes(context, local, [LocalPipeline(optimize_communication, keep_layers=True)], verify_each=False)
    for op in pre_order(local):
        # Custom sharding rules describe the global ops; the passes above still used them.
        op.attributes.pop(RULE_ATTRIBUTE, None)
    verify_module(local)  # before layers are unfolded, so that each layer is verified once
    run_passes(context, local, [UnfoldLayersPass()], verify_each=False)
    return local


def local_program_by_position(global_module: ModuleOp, mesh: Mesh, *, optimize_communication: bool = True) -> ModuleOp:
    """Return the local program with devices numbered by their position in `mesh`."""
    number_of = {device: number for number, device in enumerate(mesh.listed_devices())}
    renumbered = copy_with_regions(global_module)
    for op in renumbered.ops:
        if isinstance(op, MeshOp) and op.mesh.data.device_count == mesh.device_count:
            numbers = tuple(number_of[device] for device in op.mesh.data.listed_devices())
            op.mesh = MeshAttr(Mesh(op.mesh.data.axes, numbers))
    return local_program(renumbered, make_context(), optimize_communication=optimize_communication)
