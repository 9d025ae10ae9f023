"""Small integers for equal values, so that a step of propagation is a lookup of integers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Numbering(Generic[T]):
    """Gives each distinct value the next integer, from `first` on."""

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._numbers: dict[T, int] = {}
        self._values: list[T] = []

    def number(self, value: T) -> int:
        """The number of `value`, a new one where it was not met yet."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = self._first + len(self._values)
            self._values.append(value)
        return number

    def value(self, number: int) -> T:
        """The value that has `number`. Raises: IndexError where no value has it."""
        return self._values[number - self._first]
