"""What rules ask of an op's types: shapes and ranks."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Operation, SSAValue

from sdy.dialects.sharded_types import static_shape

Shape = tuple[int, ...]


def shape_or_empty(value: SSAValue) -> Shape:
    """The dims of a tensor; none for a type without static shape, such as a token."""
    return static_shape(value.type) or ()


def ranks_of(values: Iterable[SSAValue]) -> tuple[int, ...]:
    """The rank of each value."""
    return tuple(len(shape_or_empty(value)) for value in values)


def is_shaped(value: SSAValue) -> bool:
    """Whether the value is a tensor, and not a token or a tuple."""
    return isinstance(value.type, ShapedType)


def operand_and_result_ranks(op: Operation) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ranks of all operands, and of all results."""
    return ranks_of(op.operands), ranks_of(op.results)
