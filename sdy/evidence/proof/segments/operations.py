"""Segments of windows along a dim: made from windows, joined, taken in part, overwritten, chosen by masks, sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from sdy.evidence.proof.known import as_view
from sdy.evidence.proof.offsets import Offset, at, offset
from sdy.evidence.proof.readings import plain_readings
from sdy.evidence.proof.relations import (
    ARBITRARY,
    FREE,
    Digit,
    Known,
    NotProvedError,
    Segment,
    Segments,
    View,
    dim_of,
    is_plain,
)
from sdy.evidence.proof.terms import Shape, Term, TermTable

Row = tuple[Segment, ...]
MOST_SEGMENTS = 64  # of one device; values of more are followed element by element, or not at all


def repeats(source: View, dim: int) -> bool:
    """Return whether a source has the same elements all along a dim."""
    return dim_of(source.dims[dim]) == FREE


def constant_source(term: Term, shape: Shape, dim: int) -> View:
    """Return the source of a scalar that is repeated in a value of a shape."""
    sizes = with_size(shape, dim, 1)
    return View(term, (), tuple(() if size == 1 else (Digit(size, FREE, 0),) for size in sizes))


def with_size(shape: Shape, dim: int, size: int) -> Shape:
    """Return a shape with another size of one dim."""
    return (*shape[:dim], size, *shape[dim + 1 :])


def as_segments(relation: View | Known | Segments, dim: int, devices: int, table: TermTable) -> Segments:
    """Return a value as segments along a dim: what lies outside of its term is arbitrary, or a scalar.

    A source that reaches over the end of its term along another dim keeps the scalar that is outside.
    Raises: NotProvedError unless it is a plain window, or if it depends on the device otherwise.
    """
    if isinstance(relation, Segments):
        if relation.dim != dim:
            raise NotProvedError("segments along two dims")
        return relation
    view = _plain(as_view(relation, table) if isinstance(relation, Known) else relation, table)
    if not is_plain(view) or view.partial is not None or view.term.is_varying:
        raise NotProvedError("expected segments of windows of one value")
    shape, term_dim = view.shape, dim_of(view.dims[dim])
    others = [(dim_of(digits), digits[0].size) for digits in view.dims if dim_of(digits) not in (FREE, term_dim)]
    are_outside: list[bool] = []  # of the devices, along another dim
    reaches_over = False
    for device in range(devices):
        places = [_place(at(view.base[each], device), size, view.term.shape[each]) for each, size in others]
        are_outside.append("outside" in places)
        reaches_over |= "over the end" in places and "outside" not in places
    if reaches_over and view.outside is None:
        raise NotProvedError("segments of windows that reach over the end of another dim")
    sources, filling = [replace(_source(view, dim), outside=view.outside if reaches_over else None)], ARBITRARY
    if view.outside is not None:
        filling = len(sources)
        sources.append(constant_source(view.outside, shape, dim))
    rows: list[Row] = []
    for device, is_outside in enumerate(are_outside):
        if is_outside:
            rows.append((Segment(shape[dim], filling, 0),))
        elif term_dim == FREE:
            rows.append((Segment(shape[dim], 0, 0),))
        else:
            rows.append(_with_ends(at(view.base[term_dim], device), shape[dim], view.term.shape[term_dim], filling))
    return Segments(shape, dim, tuple(sources), tuple(rows))


def _plain(view: View, table: TermTable) -> View:
    """Return a plain reading of a window: of a term of the global program, if there is one."""
    if is_plain(view):
        return view
    readings = plain_readings(view, table)
    return next((each for each in readings if table.is_global(each.term)), readings[0])


def _place(start: int, count: int, size: int) -> str:
    """Return where a window of `count` elements from `start` lies with respect to `size` elements."""
    if start >= size or start + count <= 0:
        return "outside"
    return "inside" if start >= 0 and start + count <= size else "over the end"


def _source(view: View, dim: int) -> View:
    """Return a window of one element along a local dim, at 0, of what a window is of."""
    term_dim = dim_of(view.dims[dim])
    if term_dim == FREE:
        return replace(view, dims=(*view.dims[:dim], (), *view.dims[dim + 1 :]), outside=None)
    base = tuple(0 if each == term_dim else start for each, start in enumerate(view.base))
    dims = (*view.dims[:dim], (Digit(1, term_dim, 1),), *view.dims[dim + 1 :])
    return replace(view, base=base, dims=dims, outside=None)


def _with_ends(start: int, count: int, size: int, filling: int) -> Row:
    """Return the segments of `count` elements from `start` of a dim of `size` elements, and of what is outside."""
    before = min(max(0, -start), count)
    after = min(max(0, start + count - size), count - before)
    row = (
        Segment(before, filling, 0),
        Segment(count - before - after, 0, start + before),
        Segment(after, filling, 0),
    )
    return tuple(each for each in row if each.size)


def joined(parts: Sequence[Segments]) -> Segments:
    """Return the concatenation of segments along their dim."""
    first, shared = parts[0], _Sources()
    rows = [() for _ in first.rows]
    for part in parts:
        rows = [(*row, *more) for row, more in zip(rows, shared.rows_of(part), strict=True)]
    shape = with_size(first.shape, first.dim, sum(part.shape[first.dim] for part in parts))
    return shared.segments(shape, first.dim, rows)


def part_of(segments: Segments, start: Offset, size: int) -> Segments:
    """Return `size` elements along the dim of segments, from `start` on."""
    rows = tuple(tuple(_part(row, at(start, device), size)) for device, row in enumerate(segments.rows))
    return replace(segments, shape=with_size(segments.shape, segments.dim, size), rows=rows)


def overwritten(segments: Segments, update: Segments, start: Offset) -> Segments:
    """Return segments in which others replace the elements from `start` on."""
    size, count = segments.shape[segments.dim], update.shape[segments.dim]
    shared = _Sources()
    rows: list[Row] = []
    for device, (row, new) in enumerate(zip(shared.rows_of(segments), shared.rows_of(update), strict=True)):
        first = at(start, device)
        rest = first + count
        rows.append((*_part(row, 0, first), *new, *_part(row, rest, size - rest)))
    return shared.segments(segments.shape, segments.dim, rows)


def chosen(masks: Sequence[Sequence[bool]], kept: Segments, other: Segments) -> Segments:
    """Return the elements of `kept` where the mask of a device is true, and otherwise those of `other`."""
    shared = _Sources()
    rows: list[Row] = []
    pairs = zip(shared.rows_of(kept), shared.rows_of(other), strict=True)
    for device, (one, two) in enumerate(pairs):
        row: list[Segment] = []
        start = 0
        for value, group in groupby(masks[device % len(masks)]):
            size = len(list(group))
            row += _part(one if value else two, start, size)
            start += size
        rows.append(tuple(row))
    return shared.segments(kept.shape, kept.dim, rows)


def sent(segments: Segments, pairs: Sequence[tuple[int, int]], zero: Term) -> Segments:
    """Return the segments that devices receive: those of their senders, and zeros without one."""
    sender = {target: source for source, target in pairs}
    count = len(segments.rows)
    moved = [
        replace(each, base=tuple(offset(tuple(at(b, sender.get(p, p)) for p in range(count))) for b in each.base))
        for each in segments.sources
    ]
    zeros = Segment(segments.shape[segments.dim], len(moved), 0)
    sources = (*moved, constant_source(zero, segments.shape, segments.dim))
    rows = tuple(segments.rows[sender[p]] if p in sender else (zeros,) for p in range(count))
    return joined([replace(segments, sources=sources, rows=rows)])


def on_each_source(segments: Segments, shape: Shape, change: Callable[[View], View]) -> Segments:
    """Return segments whose sources are changed along other dims."""
    return replace(segments, shape=shape, sources=tuple(map(change, segments.sources)))


def _part(row: Iterable[Segment], start: int, size: int) -> Iterator[Segment]:
    """Yield the segments of `size` elements of a row, from `start` on."""
    position, end = 0, start + size
    for segment in row:
        low, high = max(start, position), min(end, position + segment.size)
        if low < high:
            yield Segment(high - low, segment.source, segment.start + low - position)
        position += segment.size


class _Sources:
    """The sources of several segments, each once."""

    def __init__(self) -> None:
        self.found: list[View] = []
        self._users: list[frozenset[int]] = []  # the devices that have elements of each source

    def rows_of(self, segments: Segments) -> list[Row]:
        """Return the rows of segments, with the numbers of their sources here."""
        numbers: list[int] = []
        for number, source in enumerate(segments.sources):
            users = (device for device, row in enumerate(segments.rows) if any(each.source == number for each in row))
            numbers.append(self._number(source, frozenset(users), len(segments.rows)))
        return [
            tuple(each if each.source == ARBITRARY else each._replace(source=numbers[each.source]) for each in row)
            for row in segments.rows
        ]

    def _number(self, source: View, users: frozenset[int], devices: int) -> int:
        """Return the number of a source: sources are one if they are equal on the devices that use both."""
        for number, (other, its_users) in enumerate(zip(self.found, self._users, strict=True)):
            if (source.term, source.dims, source.outside) == (other.term, other.dims, other.outside) and all(
                at(one, device) == at(two, device)
                for one, two in zip(source.base, other.base, strict=True)
                for device in users & its_users
            ):
                merged = tuple(
                    offset(tuple(at(two if device in its_users else one, device) for device in range(devices)))
                    for one, two in zip(source.base, other.base, strict=True)
                )
                self.found[number], self._users[number] = replace(other, base=merged), users | its_users
                return number
        self.found.append(source)
        self._users.append(users)
        return len(self.found) - 1

    def segments(self, shape: Shape, dim: int, rows: Sequence[Row]) -> Segments:
        """Return segments with these rows; segments that continue each other are one.

        Raises: NotProvedError if a device has too many segments.
        """
        tidied = tuple(tuple(self._tidied(row, dim)) for row in rows)
        if max(map(len, tidied)) > MOST_SEGMENTS:
            raise NotProvedError("a value of many segments")
        return Segments(shape, dim, tuple(self.found), tidied)

    def _tidied(self, row: Row, dim: int) -> list[Segment]:
        kept: list[Segment] = []
        for each in row:
            last = kept[-1] if kept else None
            if last is not None and last.source == each.source:
                is_same = each.source == ARBITRARY or repeats(self.found[each.source], dim)
                if is_same or last.start + last.size == each.start:
                    kept[-1] = last._replace(size=last.size + each.size)
                    continue
            kept.append(each)
        return kept
