"""Tables with one entry per device. The last entry is that of all later devices, as where a slice of a table starts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")
HashableT = TypeVar("HashableT", bound=Hashable)


def devices_of(*tables: Sequence[object]) -> range:
    """Return the devices that have entries of their own in one of some tables, and one for all later ones."""
    return range(max(map(len, tables)))


def entry(table: Sequence[T], device: int) -> T:
    """Return the entry of a device."""
    return table[min(device, len(table) - 1)]


def shortened(table: Sequence[HashableT]) -> tuple[HashableT, ...]:
    """Return a table without entries at its end that equal the one before them.

    >>> shortened([1, 2, 2])
    (1, 2)
    """
    count = len(table)
    while count > 1 and table[count - 1] == table[count - 2]:
        count -= 1
    return tuple(table[:count])
