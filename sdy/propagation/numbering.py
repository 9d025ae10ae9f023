"""Numbering of values by small integers, so that propagation steps can be looked up by integers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Numbering(Generic[T]):
    """A bijection from distinct values to consecutive integers, from `first` on."""

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._numbers: dict[T, int] = {}
        self._values: list[T] = []

    def number(self, value: T) -> int:
        """Return the number of `value`, assigning the next one to a new value."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = self._first + len(self._values)
            self._values.append(value)
        return number

    def value(self, number: int) -> T:
        """Return the value of `number`. Raises: IndexError if no value has it."""
        return self._values[number - self._first]
