"""Which of the user's annotations each axis of each value goes back to.

Annotations are entered first; then every step hands the origins of the axes that it moves on. What is entered first
stays. Source: docs/spec/02, 9.3 and 9.5.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from sdy.model.axis import AxisRef, contains
from sdy.model.sharding import TensorSharding
from sdy.propagation.trace import AxisMove

K = TypeVar("K", bound=Hashable)


class Origins(Generic[K]):
    """The origin of every axis, by value and axis; `K` stands for values."""

    def __init__(self) -> None:
        self._origins: dict[K, dict[AxisRef, str]] = {}

    def __iter__(self) -> Iterator[tuple[K, Mapping[AxisRef, str]]]:
        """Values that have an origin for some axis, with those origins."""
        yield from self._origins.items()

    def annotate(self, value: K, sharding: TensorSharding, origin: str) -> None:
        """Let the axes in the dims of `sharding` be of `origin`, as far as nothing is known of them at `value`."""
        for dim in sharding.dims:
            for axis in dim.axes:
                self._enter(value, axis, origin)

    def follow(self, moves: Iterable[AxisMove], values: Sequence[K | None]) -> None:
        """Hand on the origins of what moved between `values`, the tensors of an op.

        An axis without origin comes from a sharding that is no annotation: of it nothing is entered.
        """
        for move in moves:
            source, target = values[move.source], values[move.target]
            origin = None if source is None else self._find(source, move.axis)
            if origin is not None and target is not None:
                self._enter(target, move.axis, origin)

    def _enter(self, value: K, axis: AxisRef, origin: str) -> None:
        self._origins.setdefault(value, {}).setdefault(axis, origin)

    def _find(self, value: K, axis: AxisRef) -> str | None:
        """The origin of the axis, or of the first one entered that is part of it or that it is part of."""
        known = self._origins.get(value, {})
        if axis in known:
            return known[axis]
        return next((known[each] for each in known if contains(each, axis) or contains(axis, each)), None)
