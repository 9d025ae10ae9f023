"""The causes of collectives in a text about several of them: each path of propagation is given once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdy.advice.collectives import Collective


class CausesOnce:
    """The causes that a text has so far.

    A cause is a line, and the lines below it that begin with a space, for example the ops on a path of propagation.
    """

    def __init__(self) -> None:
        self._given: set[tuple[str, ...]] = set()
        self._first: dict[tuple[str, ...], Collective] = {}

    def lines(self, collective: Collective, lines: Sequence[str]) -> Iterator[str]:
        """Yield the lines of the causes of a collective, without those below a cause that the text has already.

        If another collective in the text has the same causes, yield its name instead.
        """
        same = self._first.setdefault(tuple(lines), collective)
        if same is not collective and lines:
            yield f"as above for {same.named}"
            return
        for cause in _causes(lines):
            if cause in self._given and len(cause) > 1:
                yield f"{cause[0].removesuffix(':')}, as above"
            else:
                yield from cause
            self._given.add(cause)


def _causes(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    starts = [index for index, line in enumerate(lines) if index == 0 or not line.startswith(" ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield tuple(lines[start:end])
