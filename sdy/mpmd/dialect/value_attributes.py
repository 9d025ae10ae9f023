"""Attributes of values: of function arguments and results, and of what fragments, calls and loops take and return.

A function stores them as MLIR does, the other ops in the attributes `arg_attrs` and `res_attrs`, a dictionary per
value. Source: docs/spec/07, 2.7 and 3.7.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.func_attrs import ValueAttrs, attribute_of

ARG_ATTRS, RES_ATTRS = "arg_attrs", "res_attrs"


def attrs_of(op: Operation, name: str) -> ValueAttrs:
    """Return `arg_attrs` or `res_attrs` of an op, or None if it has none."""
    found = op.properties.get(name) if isinstance(op, FuncOp) else op.attributes.get(name)
    return found if isinstance(found, ArrayAttr) else None  # pyright: ignore[reportUnknownVariableType]


def get(op: Operation, name: str, index: int, key: str) -> Attribute | None:
    """Return an attribute of value `index` in `arg_attrs` or `res_attrs`, or None."""
    attrs = attrs_of(op, name)
    return None if attrs is None or index >= len(attrs.data) else attribute_of(attrs, index, key)


def entries_of(op: Operation, name: str) -> list[dict[str, Attribute]]:
    """Return a copy of the dictionaries in `arg_attrs` or `res_attrs`; empty ones if there are none."""
    attrs = attrs_of(op, name)
    if attrs is not None:
        return [dict(entry.data) for entry in attrs]
    block = op.regions[0].first_block if op.regions else None
    if name == ARG_ATTRS:  # a loop also has those of its index, and a fragment those of its control operands
        count = max(len(op.operands), 0 if block is None else len(block.args))
    else:
        count = len(terminator_of(op.body).operands) if isinstance(op, FuncOp) else len(op.results)
    return [{} for _ in range(count)]


def write_entries(op: Operation, name: str, entries: list[dict[str, Attribute]], *, keep_empty: bool = False) -> None:
    """Write `arg_attrs` or `res_attrs`; it is removed if all dictionaries are empty, unless `keep_empty`."""
    holder = op.properties if isinstance(op, FuncOp) else op.attributes
    if keep_empty or any(entries):
        holder[name] = ArrayAttr(map(DictionaryAttr, entries))
    else:
        holder.pop(name, None)


def update(op: Operation, name: str, index: int, changes: Mapping[str, Attribute | None]) -> None:
    """Set attributes of value `index`, and remove those that are None."""
    entries = entries_of(op, name)
    changed = {**entries[index], **changes}
    entries[index] = {key: attribute for key, attribute in changed.items() if attribute is not None}
    write_entries(op, name, entries)


def remove_from_all(op: Operation, keys: Collection[str]) -> None:
    """Remove attributes from all arguments and results of an op."""
    for name in (ARG_ATTRS, RES_ATTRS):
        if attrs_of(op, name) is not None:
            entries = entries_of(op, name)
            for entry, key in product(entries, keys):
                entry.pop(key, None)
            write_entries(op, name, entries)


def value_attribute(value: SSAValue, key: str) -> Attribute | None:
    """Return an attribute that `arg_attrs` or `res_attrs` give an argument of a block or a result of an op."""
    if isinstance(value, BlockArgument):
        op = value.block.parent_op()
        return None if op is None else get(op, ARG_ATTRS, value.index, key)
    assert isinstance(value, OpResult)
    return get(value.op, RES_ATTRS, value.index, key)
