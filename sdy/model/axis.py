"""Axis refs: mentions of a mesh axis or of one of its sub-axes, and the relations between two of them.

Read as a mixed-radix number, a mesh axis `x` of size N has digits. A sub-axis `"x":(m)k` is the middle digit after
reshaping N to `[m, k, N / (m * k)]`, so an axis ref is the half-open multiplicative interval `[pre_size, end)`.
Functions that need the mesh, to know where a full axis ends, are in `axis_on_mesh`. Source: docs/spec/01, 2.1 to 2.4.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple


class SubAxis(NamedTuple):
    """The slice `(pre_size)size` of a full axis: `"x":(2)4` on `"x"=16` splits x as 2 · **4** · 2.

    Any integers parse; verifying the sharding checks that they fit the mesh.
    """

    pre_size: int  # product of the sizes of all more major sub-axes of the same axis
    size: int  # devices along this slice

    @property
    def end(self) -> int:
        """The pre-size of the next sub-axis, the one minor to this one."""
        return self.pre_size * self.size

    def __str__(self) -> str:
        return f"({self.pre_size}){self.size}"


@dataclass(frozen=True, slots=True)
class AxisRef:
    """A reference to a full mesh axis or to one of its sub-axes."""

    name: str
    sub_axis: SubAxis | None = None

    @property
    def pre_size(self) -> int:
        """The product of the sizes of all sub-axes major to this ref; 1 for a full axis."""
        return 1 if self.sub_axis is None else self.sub_axis.pre_size

    def __str__(self) -> str:
        return quoted(self.name) if self.sub_axis is None else f"{quoted(self.name)}:{self.sub_axis}"


AxisList = tuple[AxisRef, ...]  # major first


def sub_axis_ref(name: str, pre_size: int, end: int) -> AxisRef:
    """Return the ref to the sub-axis of `name` that spans `[pre_size, end)`.

    >>> str(sub_axis_ref("u", 2, 12))
    '"u":(2)6'
    """
    return AxisRef(name, SubAxis(pre_size, end // pre_size))


def order_key(ref: AxisRef) -> tuple[str, int, int]:
    """Return a sort key: by name, then from major to minor. A full axis sorts after the sub-axes that start it."""
    sub = ref.sub_axis
    return (ref.name, 1, sys.maxsize) if sub is None else (ref.name, sub.pre_size, sub.size)


def contains(a: AxisRef, b: AxisRef) -> bool:
    """Return whether the interval of `a` includes that of `b`. The two need not split evenly: see `can_coexist`."""
    if a.name != b.name or a.sub_axis is None:
        return a.name == b.name
    return b.sub_axis is not None and a.sub_axis.pre_size <= b.sub_axis.pre_size and a.sub_axis.end >= b.sub_axis.end


def is_prefix(a: AxisRef, b: AxisRef) -> bool:
    """Return whether `a` is a major prefix of `b`, or `b` itself."""
    return a.pre_size == b.pre_size and contains(b, a)


def is_strict_prefix(a: AxisRef, b: AxisRef) -> bool:
    """Return whether `a` is a major prefix of `b`, but not `b` itself."""
    return a != b and is_prefix(a, b)


def overlaps(a: AxisRef, b: AxisRef) -> bool:
    """Return whether the two refs share part of an axis."""
    if a.name != b.name:
        return False
    if a.sub_axis is None or b.sub_axis is None:
        return True
    return a.sub_axis.pre_size < b.sub_axis.end and b.sub_axis.pre_size < a.sub_axis.end


def can_coexist(a: AxisRef, b: AxisRef) -> bool:
    """Return whether one factorization of the axis exposes both refs.

    On an axis of size 24, `(1)4` and `(2)6` can coexist (boundaries at 1, 2, 4 and 12), but `(1)2` and `(1)3` cannot.
    """
    if a.name != b.name or a.sub_axis is None or b.sub_axis is None:
        return True
    low_start, high_start = sorted((a.sub_axis.pre_size, b.sub_axis.pre_size))
    low_end, high_end = sorted((a.sub_axis.end, b.sub_axis.end))
    if low_end > high_start:
        return low_end % high_start == 0 and high_start % low_start == 0 and high_end % low_end == 0
    return high_start % low_end == 0


def can_all_coexist(refs: Iterable[AxisRef]) -> bool:
    """Return whether one factorization of each axis exposes all refs."""
    return all(
        can_coexist(one, other) for one, other in combinations((ref for ref in refs if ref.sub_axis is not None), 2)
    )


def can_merge(a: AxisRef, b: AxisRef) -> bool:
    """Return whether `a` is major to `b` and adjacent to it, so that `a, b` can be written as one longer ref."""
    return (
        a.name == b.name and a.sub_axis is not None and b.sub_axis is not None and a.sub_axis.end == b.sub_axis.pre_size
    )


def intersection(a: AxisRef, b: AxisRef) -> AxisRef | None:
    """Return the part of the axis that both refs share; None if they share nothing or cannot coexist."""
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
    """Return the longest prefix of `a` that does not overlap `b`; None if that is empty or the refs cannot coexist."""
    if not can_coexist(a, b):
        return None
    if not overlaps(a, b):
        return a
    return sub_axis_ref(a.name, a.pre_size, b.pre_size) if a.pre_size < b.pre_size else None


def greatest_common_prefix(a: AxisRef, b: AxisRef) -> AxisRef | None:
    """Return the longest ref that is a prefix of both; None if there is none."""
    if not can_coexist(a, b):
        return None
    if is_prefix(a, b):
        return a
    return b if is_prefix(b, a) else None


_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_ESCAPE = re.compile(rb'\\(["\\nt]|[0-9A-Fa-f]{2})')
_PLAIN_ESCAPES = {b'"': b'"', b"\\": b"\\", b"n": b"\n", b"t": b"\t"}
_TO_QUOTE = re.compile(rb"[^ !#-\[\]-~]")


def unquoted(literal: str) -> str:
    """Return the name that a quoted string literal stands for. Bytes that are not UTF-8 become surrogates.

    Source: docs/spec/01, 0.2.
    """
    if "\\" not in literal:
        return literal[1:-1]
    raw = _ESCAPE.sub(lambda match: _unescaped(match[1]), literal[1:-1].encode())
    return raw.decode(errors="surrogateescape")


def _unescaped(escape: bytes) -> bytes:
    return _PLAIN_ESCAPES[escape] if escape in _PLAIN_ESCAPES else bytes([int(escape, 16)])


def quoted(name: str) -> str:
    """Return the name as a string literal: printable ASCII as it is, other bytes as two hexadecimal digits."""
    raw = name.encode(errors="surrogateescape")
    return f'"{_TO_QUOTE.sub(lambda match: _escaped(match[0]), raw).decode()}"'


def _escaped(byte: bytes) -> bytes:
    return b"\\\\" if byte == b"\\" else b"\\%02X" % byte[0]


def symbol_name(symbol: str) -> str:
    """Return the name that a symbol reference such as `@mesh` or `@"a mesh"` stands for."""
    return unquoted(symbol[1:]) if symbol[1] == '"' else symbol[1:]


def symbol(name: str) -> str:
    """Return the reference to symbol `name`, quoted unless it is a bare identifier."""
    return f"@{name}" if _BARE.fullmatch(name) else f"@{quoted(name)}"
