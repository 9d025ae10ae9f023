"""Enums that `sdy` ops store as 32-bit integers. Source: docs/spec/01, 1.4.13."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from xdsl.dialects.builtin import IntegerAttr, i32

EnumT = TypeVar("EnumT", bound=Enum)


class BarrierDirection(Enum):
    """The directions in which shardings may be propagated through a propagation barrier."""

    NONE = "NONE"
    FORWARD = "FORWARD"
    BACKWARD = "BACKWARD"
    BOTH = "BOTH"


def enum_attr(value: Enum) -> IntegerAttr:
    """Return the index of the member in its enum, as the integer attribute of the generic syntax."""
    return IntegerAttr(list(type(value)).index(value), i32)


def enum_value(attr: IntegerAttr, enum: type[EnumT]) -> EnumT | None:
    """Return the member of the enum with this index, or None if there is none."""
    members = list(enum)
    return members[attr.value.data] if 0 <= attr.value.data < len(members) else None
