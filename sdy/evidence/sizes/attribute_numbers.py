"""The integers in an attribute of an op: one, an array of them, or a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Attribute

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.syntax.clauses import ints_of

Ints = tuple[int, ...]


def ints_in(attribute: Attribute) -> Ints:
    """Return the integers of an attribute; those of a table row by row."""
    if isinstance(attribute, IntegerAttr):
        return (cast("IntegerAttr", attribute).value.data,)
    return attribute.get_ints() if isinstance(attribute, DenseElementsAttr) else ints_of(attribute)


def with_ints(attribute: Attribute, ints: Sequence[int]) -> Attribute:
    """Return an attribute of the same kind and type with other integers."""
    if isinstance(attribute, IntegerAttr):
        return IntegerAttr(ints[0], cast("IntegerAttr", attribute).type)
    if isinstance(attribute, DenseElementsAttr):
        return DenseElementsAttr.from_values(attribute.type, ints)
    return DenseArrayBase.from_list(i64, ints)
