"""Attributes of the arguments and results of functions: a dictionary per value, or None for all of them."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute

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
