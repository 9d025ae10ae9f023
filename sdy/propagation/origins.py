"""The user annotation that each axis of each value comes from.

Annotations are recorded first; then every step passes on the origins of the axes that it moves. The first origin
recorded for an axis stays. Source: docs/spec/02, 9.3 and 9.5.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from sdy.model.axis import AxisRef, contains
from sdy.model.sharding import TensorSharding
from sdy.propagation.trace import AxisMove

K = TypeVar("K", bound=Hashable)


class Origins(Generic[K]):
    """The origin of every axis, by value and axis. `K` is the type of values."""

    def __init__(self) -> None:
        self._origins: dict[K, dict[AxisRef, str]] = {}

    def __iter__(self) -> Iterator[tuple[K, Mapping[AxisRef, str]]]:
        """Yield the values that have an origin for some axis, with these origins."""
        yield from self._origins.items()

    def annotate(self, value: K, sharding: TensorSharding, origin: str) -> None:
        """Record `origin` for the axes in the dims of `sharding` that have no origin at `value` yet."""
        for dim in sharding.dims:
            for axis in dim.axes:
                self._record(value, axis, origin)

    def follow(self, moves: Iterable[AxisMove], values: Sequence[K | None]) -> None:
        """Pass on the origins of the axes that moved between `values`, the tensors of an op.

        An axis without an origin comes from a sharding that is not an annotation, and is skipped.
        """
        for move in moves:
            source, target = values[move.source], values[move.target]
            origin = None if source is None else self._lookup(source, move.axis)
            if origin is not None and target is not None:
                self._record(target, move.axis, origin)

    def _record(self, value: K, axis: AxisRef, origin: str) -> None:
        self._origins.setdefault(value, {}).setdefault(axis, origin)

    def _lookup(self, value: K, axis: AxisRef) -> str | None:
        """Return the origin of the axis, or of the first recorded axis that contains it or is contained in it."""
        known = self._origins.get(value, {})
        if axis in known:
            return known[axis]
        return next((known[each] for each in known if contains(each, axis) or contains(axis, each)), None)
