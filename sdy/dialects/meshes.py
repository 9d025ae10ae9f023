"""Lookup of the meshes of a module by name."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.dialects.ir.walk import enclosing
from sdy.dialects.sdy.ops import MeshOp
from sdy.model.mesh import Mesh


def meshes_of(module: ModuleOp) -> dict[str, Mesh]:
    """Return the meshes defined in `module`, without those of nested modules, in program order."""
    return {op.sym_name.data: op.mesh.data for op in module.ops if isinstance(op, MeshOp)}


def visible_meshes(op: Operation) -> dict[str, Mesh]:
    """Return the meshes that a sharding on `op` may refer to. Scans the module, so call it once for many ops."""
    module = enclosing(op, ModuleOp)
    return {} if module is None else meshes_of(module)
