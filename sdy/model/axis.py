"""Axis refs: how a sharding mentions a mesh axis, whole or in part.

A mesh axis `x` of size N read as a mixed-radix number has digits; a sub-axis `"x":(m)k` is the digit that
reshaping N to `[m, k, N / (m * k)]` puts in the middle. An axis ref is thus the half-open multiplicative
interval `[pre_size, end)`. Source: spec of the dialect, sections 2.1 to 2.4.
"""

from __future__ import annotations

from dataclasses import dataclass
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
