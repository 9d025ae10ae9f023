"""Shapes and ranks of an op's operands and results, as rules need them."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Operation, SSAValue

from sdy.dialects.sharded_types import static_shape
from sdy.model.shape import StaticShape


def shape_or_empty(value: SSAValue) -> StaticShape:
    """Return the shape of a tensor; an empty one for a type without static shape, such as a token."""
    return static_shape(value.type) or ()


def ranks_of(values: Iterable[SSAValue]) -> tuple[int, ...]:
    """Return the rank of each value."""
    return tuple(len(shape_or_empty(value)) for value in values)


def is_shaped(value: SSAValue) -> bool:
    """Return whether the value is a tensor, rather than a token or a tuple."""
    return isinstance(value.type, ShapedType)


def operand_and_result_ranks(op: Operation) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ranks of all operands and those of all results."""
    return ranks_of(op.operands), ranks_of(op.results)
