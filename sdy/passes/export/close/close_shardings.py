"""Close every dim sharding and drop explicitly replicated axes.

    before  <@m, [{"x", ?}, {?}], replicated={"y"}>
    after   <@m, [{"x"}, {}]>

Requires: propagation is finished. Ensures: no open dim is left. Source: docs/spec/04, 4.6.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.model.sharding_update import closed_like
from sdy.passes.rewriting.op_order import keep_order
from sdy.passes.rewriting.sharding_walk import map_shardings


class CloseShardingsPass(ModulePass):
    """Close every dim sharding."""

    name = "sdy-close-shardings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Close all shardings of the module."""
        map_shardings(op, closed_like)
        keep_order(op)
