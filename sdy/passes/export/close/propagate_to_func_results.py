"""Copy the shardings of returned values to the result attributes of functions.

In the main function, only tensors without a sharding of their own receive one. Source: docs/spec/04, 4.13; for the main
function, docs/differences.md.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.sdy.types import TensorLikeType
from sdy.dialects.shardings import (
    function_result_sharding,
    remove_function_result_sharding,
    set_function_result_sharding,
    sharding_of,
)
from sdy.passes.rewriting.op_order import keep_order


class PropagateToFuncResultsPass(ModulePass):
    """Copy the shardings of returned values to result attributes."""

    name = "sdy-propagate-to-func-results"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Copy the shardings; a value without a sharding leaves its result without one, except in the main function."""
        main = main_function(op)
        for func in functions_of(op).values():
            terminator = func.body.block.last_op if func.body.blocks else None
            if not isinstance(terminator, ReturnOp):
                continue
            for index, operand in enumerate(terminator.operands):
                if func is not main or _lacks_sharding(func, index):
                    _copy_sharding(operand, func, index)
        keep_order(op)


def _lacks_sharding(func: FuncOp, index: int) -> bool:
    is_tensor = isinstance(func.function_type.outputs.data[index], TensorType | TensorLikeType)
    return is_tensor and function_result_sharding(func, index) is None


def _copy_sharding(value: SSAValue, func: FuncOp, index: int) -> None:
    sharding = sharding_of(value)
    if sharding is not None:
        set_function_result_sharding(func, index, sharding)
    else:
        remove_function_result_sharding(func, index)
