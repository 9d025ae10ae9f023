"""Boxes: the parts of a tensor between two indices in each dim."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

Box = tuple[tuple[int, int], ...]  # the first index and the one after the last, by dim


def volume(box: Box) -> int:
    """Return the number of elements of a box."""
    return prod(high - low for low, high in box)


def is_within(box: Box, outer: Box) -> bool:
    """Return whether a box lies in another one."""
    return all(low <= first and last <= high for (first, last), (low, high) in zip(box, outer, strict=True))


def boxes_of_range(box: Box, start: int, stop: int) -> Iterator[Box]:
    """Yield boxes with the elements from `start` to `stop` of a box, in row-major order."""
    if start >= stop:
        return
    if not box:
        yield ()
        return
    (low, high), inner = box[0], box[1:]
    row = volume(inner)
    if start == 0 and stop == (high - low) * row:
        yield box
        return
    first, last = -(-start // row), stop // row
    if first > last:  # all in one row
        yield from _in_row(low + last, inner, start - last * row, stop - last * row)
        return
    if start % row:
        yield from _in_row(low + first - 1, inner, start % row, row)
    if first < last:
        yield ((low + first, low + last), *inner)
    if stop % row:
        yield from _in_row(low + last, inner, 0, stop % row)


def _in_row(index: int, inner: Box, start: int, stop: int) -> Iterator[Box]:
    return (((index, index + 1), *box) for box in boxes_of_range(inner, start, stop))
