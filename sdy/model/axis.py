"""Axis refs: how a sharding mentions a mesh axis, whole or in part, and how two mentions relate.

A mesh axis `x` of size N read as a mixed-radix number has digits; a sub-axis `"x":(m)k` is the digit that
reshaping N to `[m, k, N / (m * k)]` puts in the middle. An axis ref is thus the half-open multiplicative
interval `[pre_size, end)`. What needs the mesh, to learn the end of a full axis, is in `axis_on_mesh`.
Source: docs/spec/01, 2.1 to 2.4.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple


class SubAxis(NamedTuple):
    """The slice `(pre_size)size` of a full axis: `"x":(2)4` on `"x"=16` cuts x as 2 · **4** · 2.

    Any integers parse; whether they fit a mesh is checked where a sharding is verified.
    """

    pre_size: int  # product of the sizes of all more major sub-axes of the same axis
    size: int  # devices along this slice

    @property
    def end(self) -> int:
        """The pre-size of whatever comes next, minor to this."""
        return self.pre_size * self.size

    def __str__(self) -> str:
        return f"({self.pre_size}){self.size}"


@dataclass(frozen=True, slots=True)
class AxisRef:
    """A mention of a mesh axis: all of it, or one of its sub-axes."""

    name: str
    sub_axis: SubAxis | None = None

    @property
    def pre_size(self) -> int:
        """Product of the sizes of what is major to this ref within its axis; 1 for a full axis."""
        return 1 if self.sub_axis is None else self.sub_axis.pre_size

    def __str__(self) -> str:
        return f'"{self.name}"' if self.sub_axis is None else f'"{self.name}":{self.sub_axis}'


AxisList = tuple[AxisRef, ...]  # major first


def sub_axis_ref(name: str, pre_size: int, end: int) -> AxisRef:
    """The sub-axis of `name` that spans `[pre_size, end)`.

    >>> str(sub_axis_ref("u", 2, 12))
    '"u":(2)6'
    """
    return AxisRef(name, SubAxis(pre_size, end // pre_size))


def order_key(ref: AxisRef) -> tuple[str, int, int]:
    """Sorts refs by name, then from major to minor; a full axis comes after the sub-axes that start it."""
    sub = ref.sub_axis
    return (ref.name, 1, sys.maxsize) if sub is None else (ref.name, sub.pre_size, sub.size)


def contains(a: AxisRef, b: AxisRef) -> bool:
    """Whether the interval of `a` includes that of `b`. It need not split evenly: see `can_coexist`."""
    if a.name != b.name or a.sub_axis is None:
        return a.name == b.name
    return b.sub_axis is not None and a.sub_axis.pre_size <= b.sub_axis.pre_size and a.sub_axis.end >= b.sub_axis.end


def strictly_contains(a: AxisRef, b: AxisRef) -> bool:
    """`a` contains `b` and is not equal to it."""
    return a != b and contains(a, b)


def is_prefix(a: AxisRef, b: AxisRef) -> bool:
    """Whether `a` is the major part of `b`, or `b` itself."""
    return a.pre_size == b.pre_size and contains(b, a)


def is_strict_prefix(a: AxisRef, b: AxisRef) -> bool:
    """Whether `a` is the major part of `b`, and not `b` itself."""
    return a != b and is_prefix(a, b)


def overlaps(a: AxisRef, b: AxisRef) -> bool:
    """Whether some digit of the axis belongs to both."""
    if a.name != b.name:
        return False
    if a.sub_axis is None or b.sub_axis is None:
        return True
    return a.sub_axis.pre_size < b.sub_axis.end and b.sub_axis.pre_size < a.sub_axis.end


def can_coexist(a: AxisRef, b: AxisRef) -> bool:
    """Whether one factorisation of the axis exposes both refs.

    On an axis of size 24, `(1)4` and `(2)6` coexist (cuts 1|2|4|12), `(1)2` and `(1)3` do not.
    """
    if a.name != b.name or a.sub_axis is None or b.sub_axis is None:
        return True
    low_start, high_start = sorted((a.sub_axis.pre_size, b.sub_axis.pre_size))
    low_end, high_end = sorted((a.sub_axis.end, b.sub_axis.end))
    if low_end > high_start:
        return low_end % high_start == 0 and high_start % low_start == 0 and high_end % low_end == 0
    return high_start % low_end == 0


def can_all_coexist(refs: Iterable[AxisRef]) -> bool:
    """Whether one factorisation of each axis exposes all refs."""
    return all(
        can_coexist(one, other) for one, other in combinations((ref for ref in refs if ref.sub_axis is not None), 2)
    )


def can_merge(a: AxisRef, b: AxisRef) -> bool:
    """Whether `a` is major to `b` and adjacent to it, so that `a, b` is one longer ref."""
    return (
        a.name == b.name and a.sub_axis is not None and b.sub_axis is not None and a.sub_axis.end == b.sub_axis.pre_size
    )


def intersection(a: AxisRef, b: AxisRef) -> AxisRef | None:
    """What both refs share; None where they share nothing or do not coexist."""
    if a.name != b.name:
        return None
    if a.sub_axis is None:
        return b
    if b.sub_axis is None:
        return a
    start = max(a.sub_axis.pre_size, b.sub_axis.pre_size)
    end = min(a.sub_axis.end, b.sub_axis.end)
    return sub_axis_ref(a.name, start, end) if end > start and can_coexist(a, b) else None


def prefix_without(a: AxisRef, b: AxisRef) -> AxisRef | None:
    """The largest major part of `a` that does not touch `b`; None where nothing is left or they do not coexist."""
    if not can_coexist(a, b):
        return None
    if not overlaps(a, b):
        return a
    return sub_axis_ref(a.name, a.pre_size, b.pre_size) if a.pre_size < b.pre_size else None


def greatest_common_prefix(a: AxisRef, b: AxisRef) -> AxisRef | None:
    """The longest ref that is a prefix of both, if any."""
    if not can_coexist(a, b):
        return None
    if is_prefix(a, b):
        return a
    return b if is_prefix(b, a) else None
