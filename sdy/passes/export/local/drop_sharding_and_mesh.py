"""Remove all shardings and meshes, which leaves plain StableHLO. Source: docs/spec/06, 6.2."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from sdy.dialects.ir.func_attrs import without_attributes
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.shardings import SHARDING


@dataclass(frozen=True)
class DropShardingAndMeshPass(ModulePass):
    """Remove all shardings and meshes."""

    name = "sdy-drop-sharding-and-mesh"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Remove the shardings of every op, and the meshes."""
        for inner in pre_order(op):
            inner.attributes.pop(SHARDING, None)
            if type(inner) is FuncOp:
                inner.arg_attrs = without_attributes(inner.arg_attrs, (SHARDING,))
                inner.res_attrs = without_attributes(inner.res_attrs, (SHARDING,))
            elif type(inner) is MeshOp:
                inner.detach()
                inner.erase()
