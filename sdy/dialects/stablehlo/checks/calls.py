"""What a custom call says of how its operands and results are stored."""

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
    """`custom_call`: a known version of the interface; its configuration is a string, or in the newest a dictionary."""
    version = integer(op, "api_version") if "api_version" in op.properties else 1
    if not 0 <= version <= LATEST_API_VERSION:
        fail(op, "SDY-D016", f"api_version is {version}, it should be 0 to {LATEST_API_VERSION}")
    config = op.properties.get("backend_config")
    if isinstance(config, DictionaryAttr) and version != LATEST_API_VERSION:
        fail(op, "SDY-D016", f"backend_config is a dictionary, api_version {version} takes a string")


def check_custom_call_layouts(op: Operation) -> None:
    """`custom_call`: a layout per operand and result, each an order of the dims; aliases have one type."""
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
        fail(op, "SDY-D014", f"{name} has {len(layouts)} entries, there are {len(types)} values")
    for index, (layout, of_type) in enumerate(zip(layouts, types, strict=True)):
        tensor = as_tensor(of_type)
        rank = 0 if tensor is None else tensor.get_num_dims()
        if sorted(layout.get_ints()) != [*range(rank)]:
            fail(op, "SDY-D016", f"entry {index} of {name} should order the dims of {of_type}, it is {layout}")


def _check_alias(op: Operation, attr: OutputOperandAliasAttr) -> None:
    alias = attr.data
    if not 0 <= alias.operand_index < len(op.operands):
        fail(op, "SDY-D015", f"an alias names operand {alias.operand_index}, there are {len(op.operands)} operands")
    operand = _part(op.operand_types[alias.operand_index], alias.operand_tuple_indices)
    places = alias.output_tuple_indices
    results = list(op.result_types)
    if len(results) > 1 and places and 0 <= places[0] < len(results):
        results, places = [results[places[0]]], places[1:]
    output = _part(results[0], places) if len(results) == 1 else None
    if operand is None or output is None or not have_compatible_types(operand, output):
        fail(op, "SDY-D013", f"an alias joins {operand} and {output}, which should have one type")


def _part(of_type: Attribute, indices: DimNumbers) -> Attribute | None:
    """The type of an element within nested tuples; None where there is none."""
    for index in indices:
        if not isinstance(of_type, TupleType) or not 0 <= index < len(of_type.types):
            return None
        of_type = of_type.types.data[index]
    return of_type
