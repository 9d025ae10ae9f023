"""Remove sub-axes from open dims of the main function's arguments and results; callers cannot name them.

    before  func @main(%a: tensor<8xf32> {[{"y", "x":(1)2, ?}]})
    after   func @main(%a: tensor<8xf32> {[{"y", ?}]})

Source: docs/spec/04, 4.5.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.dialects.ir.symbols import main_function
from sdy.passes.export.close.boundary_shardings import without_open_sub_axes
from sdy.passes.rewriting.op_order import keep_order
from sdy.passes.rewriting.sharding_walk import map_boundary_shardings


class RemoveSubAxesPass(ModulePass):
    """Truncate open dims of arguments and results of the main function before their first sub-axis."""

    name = "sdy-remove-sub-axes-in-input-output-shardings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the shardings of arguments and results."""
        map_boundary_shardings(main_function(op), without_open_sub_axes)
        keep_order(op)
