"""Attributes of arguments and results of functions, a dictionary per value or None for all, and the names in them."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

ValueAttrs = ArrayAttr[DictionaryAttr] | None  # of all arguments, or of all results


def attribute_of(attrs: ValueAttrs, index: int, name: str) -> Attribute | None:
    """Return an attribute of value `index`, or None if it does not have it."""
    return None if attrs is None else attrs.data[index].data.get(name)


def with_attribute(attrs: ValueAttrs, count: int, index: int, name: str, attribute: Attribute) -> ValueAttrs:
    """Return the attributes of `count` values with `attribute` added to value `index`."""
    entries = [DictionaryAttr({})] * count if attrs is None else list(attrs.data)
    entries[index] = DictionaryAttr({**entries[index].data, name: attribute})
    return ArrayAttr(entries)


def without_attributes(attrs: ValueAttrs, names: Collection[str]) -> ValueAttrs:
    """Return the attributes without those of the given names."""
    if attrs is None or not any(name in entry.data for entry in attrs for name in names):
        return attrs
    return ArrayAttr(
        DictionaryAttr({name: attr for name, attr in entry.data.items() if name not in names}) for entry in attrs
    )


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
