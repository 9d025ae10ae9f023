"""Offsets of windows: one number, or one per device."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache


class Offsets(tuple[int, ...]):
    """Offsets of a window, one per device. There are thousands of devices, so what is asked often is computed once."""

    @cached_property
    def distinct(self) -> frozenset[int]:
        """The offsets, each once."""
        return frozenset(self)

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest offset."""
        return min(self.distinct), max(self.distinct)

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash


Offset = int | Offsets  # of a window: the same on all devices, or one per device
Groups = tuple[tuple[int, ...], ...]  # of devices


@lru_cache(maxsize=65536)
def offset(values: tuple[int, ...]) -> Offset:
    """Return the offset with one value per device, as a single number if all are equal."""
    first = values[0]
    return first if values.count(first) == len(values) else Offsets(values)


def at(table: Offset, device: int) -> int:
    """Return the offset on a device."""
    return table if isinstance(table, int) else table[device]


@lru_cache(maxsize=65536)
def plus(one: Offset, other: Offset, factor: int = 1) -> Offset:
    """Return `one + factor * other`."""
    if isinstance(one, int):
        if isinstance(other, int):
            return one + factor * other
        return offset(tuple(one + factor * each for each in other))
    if isinstance(other, int):
        return offset(tuple(each + factor * other for each in one))
    return offset(tuple(a + factor * b for a, b in zip(one, other, strict=True)))


@lru_cache(maxsize=4096)
def clamped(table: Offset, last: int) -> Offset:
    """Return the offsets within `[0, last]` that are next to the given ones."""
    if isinstance(table, int):
        return min(max(table, 0), last)
    return offset(tuple(min(max(each, 0), last) for each in table))


@lru_cache(maxsize=4096)
def divided(table: Offset, divisor: int) -> tuple[Offset, Offset]:
    """Return the quotients and the remainders of offsets."""
    if isinstance(table, int):
        return table // divisor, table % divisor
    return offset(tuple(each // divisor for each in table)), offset(tuple(each % divisor for each in table))


@lru_cache(maxsize=4096)
def of_devices(table: Offset, devices: tuple[int, ...]) -> Offset:
    """Return, for each device, the offset that another device has: the one that `devices` has for it."""
    return table if isinstance(table, int) else offset(tuple(table[device] for device in devices))


def spread(table: Offset) -> Iterable[int]:
    """Return the distinct offsets."""
    return (table,) if isinstance(table, int) else table.distinct


def is_inside(start: Offset, extent: int, size: int) -> bool:
    """Return whether a window of `extent` elements lies within `[0, size)` on every device."""
    low, high = (start, start) if isinstance(start, int) else start.bounds
    return low >= 0 and high + extent <= size


@lru_cache(maxsize=4096)
def elements_outside(start: Offset, extent: int, size: int) -> int:
    """Return how many elements of the distinct windows of `extent` elements lie outside of `[0, size)`."""
    return sum(min(extent, max(0, -each)) + min(extent, max(0, each + extent - size)) for each in spread(start))
