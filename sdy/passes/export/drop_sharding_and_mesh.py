"""Remove every sharding and every mesh: plain StableHLO is left. Source: spec of local lowering, section 6.2."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.shardings import SHARDING
from sdy.dialects.walk import pre_order


@dataclass(frozen=True)
class DropShardingAndMeshPass(ModulePass):
    """Forget how the program was sharded."""

    name = "sdy-drop-sharding-and-mesh"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit every op once."""
        for inner in pre_order(op):
            inner.attributes.pop(SHARDING, None)
            if isinstance(inner, FuncOp):
                inner.arg_attrs = _without_shardings(inner.arg_attrs)
                inner.res_attrs = _without_shardings(inner.res_attrs)
            elif isinstance(inner, MeshOp):
                inner.detach()
                inner.erase()


def _without_shardings(attrs: ArrayAttr[DictionaryAttr] | None) -> ArrayAttr[DictionaryAttr] | None:
    if attrs is None:
        return None
    return ArrayAttr(
        [DictionaryAttr({name: value for name, value in entry.data.items() if name != SHARDING}) for entry in attrs]
    )
