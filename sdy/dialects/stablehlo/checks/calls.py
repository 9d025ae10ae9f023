"""Checks of the interface version, layouts and aliases of custom calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, TupleType
from xdsl.ir import Attribute, Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.attributes.attrs import DimNumbers, OutputOperandAliasAttr
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.checks.requirements import fail, have_compatible_types, integer

LATEST_API_VERSION = 4  # the version whose backend_config is a dictionary


def check_custom_call_config(op: Operation) -> None:
    """Check that `api_version` is known and that `backend_config` has the type which this version takes."""
    version = integer(op, "api_version") if "api_version" in op.properties else 1
    if not 0 <= version <= LATEST_API_VERSION:
        fail(op, "SDY-D016", f"api_version must be from 0 to {LATEST_API_VERSION}, got {version}")
    config = op.properties.get("backend_config")
    if isinstance(config, DictionaryAttr) and version != LATEST_API_VERSION:
        fail(op, "SDY-D016", f"backend_config must be a string for api_version {version}, got a dictionary")


def check_custom_call_layouts(op: Operation) -> None:
    """Check that each operand and result has a layout that orders its dims, and that aliases join equal types."""
    results = op.result_types
    if len(results) == 1 and isinstance(results[0], TupleType):
        results = tuple(results[0].types)
    _check_layouts(op, "operand_layouts", op.operand_types)
    _check_layouts(op, "result_layouts", results)
    aliases = cast("ArrayAttr[OutputOperandAliasAttr] | None", op.properties.get("output_operand_aliases"))
    for alias in aliases or ():
        _check_alias(op, alias)


def _check_layouts(op: Operation, name: str, types: Sequence[Attribute]) -> None:
    layouts = cast("ArrayAttr[DenseElementsAttr] | None", op.properties.get(name))
    if layouts is None:
        return
    if len(layouts) != len(types):
        fail(op, "SDY-D014", f"{name} must have one entry per value: expected {len(types)}, got {len(layouts)}")
    for index, (layout, value_type) in enumerate(zip(layouts, types, strict=True)):
        tensor = as_tensor(value_type)
        rank = 0 if tensor is None else tensor.get_num_dims()
        if layout.data.count != rank or sorted(layout.get_ints()) != [*range(rank)]:
            fail(
                op,
                "SDY-D016",
                f"entry {index} of {name} must be a permutation of the dims of {value_type}, got {layout}",
            )


def _check_alias(op: Operation, attr: OutputOperandAliasAttr) -> None:
    alias = attr.data
    if not 0 <= alias.operand_index < len(op.operands):
        message = f"operand_index of an alias is {alias.operand_index}, but the op has {len(op.operands)} operands"
        fail(op, "SDY-D015", message)
    operand = _tuple_element(op.operand_types[alias.operand_index], alias.operand_tuple_indices)
    indices = alias.output_tuple_indices
    results = list(op.result_types)
    if len(results) > 1 and indices and 0 <= indices[0] < len(results):
        results, indices = [results[indices[0]]], indices[1:]
    output = _tuple_element(results[0], indices) if len(results) == 1 else None
    if operand is None or output is None or not have_compatible_types(operand, output):
        fail(op, "SDY-D013", f"aliased operand and output must have the same type, got {operand} and {output}")


def _tuple_element(value_type: Attribute, indices: DimNumbers) -> Attribute | None:
    """Return the type of an element of nested tuples, or None if `indices` does not name an element."""
    for index in indices:
        if not isinstance(value_type, TupleType) or not 0 <= index < len(value_type.types):
            return None
        value_type = value_type.types.data[index]
    return value_type
