"""From collectives on whole tensors to the program of one device, by the numbers of devices or by their places."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.context import SdyContext
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import make_context
from sdy.dialects.sdy.attrs import MeshAttr
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.verification.verify_module import verify_module
from sdy.grammar.write import write_mesh
from sdy.model.mesh import Mesh
from sdy.passes.export.layers.unfold_layers import UnfoldLayersPass
from sdy.passes.manager.pipelines import LocalPipeline
from sdy.passes.run import run_passes
from sdy.rules.all import RULE_ATTRIBUTE


def local_program(whole: ModuleOp, context: SdyContext, *, optimize_communication: bool = True) -> ModuleOp:
    """The program that each device runs; remarks go to `context`. Raises: SdyError at the op without local form."""
    local = whole.clone()
    run_passes(context, local, [LocalPipeline(optimize_communication, keep_layers=True)], verify_each=False)
    for op in pre_order(local):
        op.attributes.pop(RULE_ATTRIBUTE, None)  # custom rules are kept until here, and speak of what is no more
    verify_module(local)  # each layer once
    run_passes(context, local, [UnfoldLayersPass()], verify_each=False)
    return local


def is_in_order(whole: ModuleOp) -> bool:
    """Whether each device has the number of its place in every mesh."""
    return not any(mesh.device_ids for mesh in meshes_of(whole).values())


def local_program_by_place(whole: ModuleOp, *, optimize_communication: bool = True) -> ModuleOp:
    """The local program with devices numbered by their place in the mesh, whatever `device_ids` it has.

    Raises: SdyError SDY-X104 where several meshes have their devices in several orders.
    """
    meshes = {mesh for mesh in meshes_of(whole).values() if not mesh.is_empty}
    if len({mesh.devices() for mesh in meshes}) > 1:
        given = " and ".join(sorted(map(write_mesh, meshes)))
        raise SdyError(Diagnostic("SDY-X104", f"the devices have no place of their own in the meshes {given}"))
    renumbered = whole.clone()
    for op in renumbered.ops:
        if isinstance(op, MeshOp):
            op.mesh = MeshAttr(Mesh(op.mesh.data.axes))
    return local_program(renumbered, make_context(), optimize_communication=optimize_communication)
