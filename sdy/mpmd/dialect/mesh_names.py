"""The order of mesh names, and the memory kind that a name may carry. Source: docs/spec/07, 4.8 and 4.9."""

from __future__ import annotations

import re
from functools import cmp_to_key

MAX_INT32 = 2**31 - 1
CPU_SUFFIX = "/cpu"
_TRAILING_NUMBER = re.compile(r"[0-9]+\Z")


def _number_of(name: str) -> int | None:
    found = _TRAILING_NUMBER.search(name)
    number = None if found is None else int(found[0])
    return None if number is None or number > MAX_INT32 else number


def comes_before(first: str, second: str) -> bool:
    """Return whether a mesh comes before another: by the numbers at the end of both names, or by the names."""
    numbers = _number_of(first), _number_of(second)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0] < numbers[1]
    return first.encode() < second.encode()


def _compare(first: str, second: str) -> int:
    return comes_before(second, first) - comes_before(first, second)


in_mesh_order = cmp_to_key(_compare)  # a key for sorting


def split_memory_kind(name: str) -> tuple[str, str | None]:
    """Return the mesh and the memory kind of `mesh#kind`; the kind is None if none is written."""
    mesh, _, kind = name.partition("#")
    return (mesh, kind) if kind else (name, None)


def is_cpu_mesh(name: str) -> bool:
    """Return whether a mesh is the host next to another mesh, on which nothing is scheduled."""
    return name.endswith(CPU_SUFFIX)
