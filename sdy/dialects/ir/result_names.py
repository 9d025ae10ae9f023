"""The names of the results of a program: those that JAX stores in attributes of the main function, and numbers."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue


def result_name(func: FuncOp, index: int) -> str:
    """Return the name of a result in JAX (`result['loss']`), or an empty text if it has none."""
    attributes = func.res_attrs.data[index] if func.res_attrs else None
    name = attributes.data.get("jax.result_info") if isinstance(attributes, DictionaryAttr) else None
    return name.data if isinstance(name, StringAttr) else ""


def shown_result_name(func: FuncOp, index: int) -> str:
    """Return the name of a result in JAX, or `result[1]` if it has none."""
    return result_name(func, index) or f"result[{index}]"


def returned_value(func: FuncOp, query: str) -> SSAValue | None:
    """Return the value of the result that `query` names: `result['loss']`, or `result 1` as reports number it.

    A result without a name in JAX is also called `result[1]`. Single and double quotes are the same. Return None if no
    result has that name.
    """
    number = result_number(func, query)
    terminator = func.body.block.last_op if func.body.blocks else None
    return terminator.operands[number] if number is not None and isinstance(terminator, ReturnOp) else None


def result_number(func: FuncOp, query: str) -> int | None:
    """Return the number of the result that `query` names; see `returned_value`."""
    for index in range(len(func.function_type.outputs)):
        if with_single_quotes(query) in (shown_result_name(func, index), f"result {index}"):
            return index
    return None


def with_single_quotes(name: str) -> str:
    """Return a name with the quotes that JAX uses."""
    return name.replace('"', "'")
