"""Copy the shardings of returned values to the result attributes of functions, except the main function.

Source: docs/spec/04, 4.13.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.passes import ModulePass

from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.shardings import remove_function_result_sharding, set_function_result_sharding, sharding_of
from sdy.passes.rewriting.op_order import keep_order


@dataclass(frozen=True)
class PropagateToFuncResultsPass(ModulePass):
    """Copy the shardings of returned values to result attributes."""

    name = "sdy-propagate-to-func-results"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Copy the shardings; a value without a sharding leaves its result without one."""
        main = main_function(op)
        for func in functions_of(op).values():
            terminator = func.body.block.last_op if func.body.blocks else None
            if func is main or not isinstance(terminator, ReturnOp):
                continue
            for index, operand in enumerate(terminator.operands):
                sharding = sharding_of(operand)
                if sharding is not None:
                    set_function_result_sharding(func, index, sharding)
                else:
                    remove_function_result_sharding(func, index)
        keep_order(op)
