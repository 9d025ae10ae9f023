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
from sdy.dialects.shardings import (
    argument_sharding,
    function_result_sharding,
    set_argument_sharding,
    set_function_result_sharding,
)
from sdy.passes.export.close.boundary_shardings import without_open_sub_axes
from sdy.passes.rewriting.op_order import keep_order


class RemoveSubAxesPass(ModulePass):
    """Truncate open dims of arguments and results of the main function before their first sub-axis."""

    name = "sdy-remove-sub-axes-in-input-output-shardings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the shardings of arguments, then of results."""
        func = main_function(op)
        for index in range(len(func.function_type.inputs)):
            sharding = argument_sharding(func, index)
            if sharding is not None and (new := without_open_sub_axes(sharding)) != sharding:
                set_argument_sharding(func, index, new)
        for index in range(len(func.function_type.outputs)):
            sharding = function_result_sharding(func, index)
            if sharding is not None and (new := without_open_sub_axes(sharding)) != sharding:
                set_function_result_sharding(func, index, new)
        keep_order(op)
