"""Remove the debug attributes in which propagation records the origin of axes. Source: docs/spec/04, 4.11."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from sdy.dialects.ir.func_attrs import without_attributes
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.attrs import RECORDS


class RemovePropagationDebugInfoPass(ModulePass):
    """Remove sharding origins and propagation edges; the names of origins stay."""

    name = "sdy-remove-propagation-debug-info"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Remove the attributes of every op."""
        for inner in pre_order(op):
            if type(inner) is FuncOp:
                inner.arg_attrs = without_attributes(inner.arg_attrs, RECORDS)
                inner.res_attrs = without_attributes(inner.res_attrs, RECORDS)
            else:
                for name in RECORDS & inner.attributes.keys():
                    del inner.attributes[name]
