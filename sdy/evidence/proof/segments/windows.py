"""Segments that lie next to each other as in a term are windows of it: of their own, or of one that has several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, permutations

from sdy.evidence.proof.concatenation_layouts import Layout, layouts_of, unsliced
from sdy.evidence.proof.concatenation_regions import in_concatenations
from sdy.evidence.proof.offsets import Offset, elements_outside, offset, plus
from sdy.evidence.proof.relations import (
    ARBITRARY,
    FREE,
    Digit,
    Digits,
    Segment,
    Segments,
    View,
    extents,
    is_within,
    tidy,
)
from sdy.evidence.proof.segments.operations import Row, repeats
from sdy.evidence.proof.segments.parts import taken_apart
from sdy.evidence.proof.terms import Term, TermTable

Others = tuple[Offset, ...]  # the base of a window along each dim of a term, 0 along that of the segments


def as_window(segments: Segments, table: TermTable) -> View | None:
    """Return segments as a window of a term: of one that is put together, or of their own; None if they are none.

    Windows that reach over the end of a term that is put together come last, those that reach least over it first: they
    say nothing of what is there. Before them, terms that devices have put together are taken apart.
    """
    larger = windows_of_larger(segments, table)
    inside = (each for each in larger if is_within(each))
    own = (_window_of_source(each) for each in (segments, _unsliced(segments)))
    found = next((each for each in chain(inside, own) if each is not None), None)
    if found is not None:
        return found
    parts = taken_apart(segments)
    of_parts = None if parts == segments else as_window(parts, table)
    return min((*larger, *(() if of_parts is None else (of_parts,))), key=_elements_outside, default=None)


def _elements_outside(view: View) -> int:
    return sum(map(elements_outside, view.base, extents(view), view.term.shape))


def windows_of_larger(segments: Segments, table: TermTable) -> list[View]:
    """Return segments as windows of the terms that the global program puts together from theirs."""
    rooted = _unsliced(segments)
    found = (_Fit(rooted, layout).window() for layout in layouts_of(segments, table))
    windows = [each for each in found if each is not None]
    for joined in _in_concatenations(rooted, table):
        windows += windows_of_larger(joined, table)
    return windows


def _in_concatenations(segments: Segments, table: TermTable) -> Iterator[Segments]:
    """Yield the segments as those of each value in which the global program joins all their terms along another dim."""
    sources = segments.sources
    varying = [number for number in _used(segments) if sources[number].base]
    found = [_by_term(sources[number], segments.dim, table) for number in varying]
    for term in found[0] if found else ():
        if all(term in each for each in found):
            joined = {number: each[term] for number, each in zip(varying, found, strict=True)}
            new = tuple(joined.get(number, each) for number, each in enumerate(sources))
            if new != sources:
                yield replace(segments, sources=new)


def _by_term(source: View, dim: int, table: TermTable) -> dict[Term, View]:
    """Return a source as it is, and as a window of each concatenation along another dim that has all of it, by term."""
    readings = in_concatenations(source, table, except_along=dim)
    return {source.term: source, **{each.term: each for each in readings}}


def _used(segments: Segments) -> list[int]:
    """Return the numbers of the sources of which there are segments."""
    return sorted({each.source for row in segments.rows for each in row if each.source != ARBITRARY})


def _unsliced(segments: Segments) -> Segments:
    return replace(segments, sources=tuple(map(unsliced, segments.sources)))


def _window_of_source(segments: Segments) -> View | None:
    """Return segments of one source as a window of its term, with one scalar or arbitrary elements outside of it."""
    dim = segments.dim
    varying = [each for each in _used(segments) if not repeats(segments.sources[each], dim)]
    if len(varying) != 1:
        return None
    source = segments.sources[varying[0]]
    (digit,) = source.dims[dim]
    first, size = source.base[digit.dim], source.term.shape[digit.dim]
    if digit.stride != 1 or not isinstance(first, int):
        return None
    outside: set[int] = set()
    starts: list[int] = []
    for row in segments.rows:
        positions = [position for position, each in enumerate(row) if each.source == varying[0]]
        if len(positions) > 1:
            return None
        position = positions[0] if positions else len(row)
        before, after = row[:position], row[position + 1 :]
        start = first + row[position].start if positions else size  # without a segment of it, all lies outside
        if (before and positions and start) or (after and start + row[position].size != size):
            return None
        starts.append(start - sum(each.size for each in before) if positions else start)
        outside.update(each.source for each in (*before, *after))
    scalars = [segments.sources[each] for each in outside if each != ARBITRARY]
    if len(scalars) > 1 or any(each.base for each in scalars):
        return None
    filling = scalars[0].term if len(outside) == len(scalars) == 1 else None
    if source.outside is not None:  # along other dims
        filling = source.outside if not outside or filling is source.outside else None
    base = tuple(offset(tuple(starts)) if each == digit.dim else own for each, own in enumerate(source.base))
    dims = (*source.dims[:dim], (Digit(segments.shape[dim], digit.dim, 1),), *source.dims[dim + 1 :])
    return replace(source, base=base, dims=tidy(dims), outside=filling)


@dataclass(slots=True)
class _Fit:
    """The attempt to read segments as a window of a term that is put together. Elements outside of the term are any."""

    segments: Segments
    layout: Layout
    _matches: dict[tuple[int, int], tuple[int | None, Others] | None] = field(
        default_factory=dict[tuple[int, int], "tuple[int | None, Others] | None"]
    )

    def window(self) -> View | None:
        """Return the window, None if there is none: also if the segments repeat along a dim that the term lacks."""
        sizes = enumerate(self.segments.shape)
        if any(size > 1 for local, size in sizes if local not in self.layout.local_dims):
            return None
        starts: list[int | None] = []
        asked: set[Others] = set()  # the bases along other dims
        for row in self.segments.rows:
            places = self._places(row)
            found = None if places is None else next((each for each in places if self._fits(row, each)), None)
            if places is not None and found is None:
                return None
            starts.append(found)
            if found is not None:
                asked |= self._others(row, found)
        rows, layout = self.segments.rows, self.layout
        count = self.segments.shape[self.segments.dim]
        known = _completed(starts, count, layout.size, lambda device, start: self._fits(rows[device], start))
        if known is None or len(asked) != 1:
            return None
        (others,) = asked
        base = tuple(offset(known) if dim == layout.dim else each for dim, each in enumerate(others))
        dims: list[Digits] = [() for _ in self.segments.shape]
        for position, local in enumerate(layout.local_dims):
            dims[local] = (Digit(self.segments.shape[local], position, 1),)
        return View(layout.term, base, tidy(dims))

    def _places(self, row: Row) -> Iterator[int] | None:
        """Return where a row may start in the term; None if it has no segment that varies, which tells it."""
        before = 0
        for segment in row:
            if segment.source != ARBITRARY and not repeats(self.segments.sources[segment.source], self.segments.dim):
                return self._starts(segment, before)
            before += segment.size
        return None

    def _starts(self, segment: Segment, before: int) -> Iterator[int]:
        """Yield where a row may start in the term, given one of its segments and the elements before it."""
        for number, region in enumerate(self.layout.regions):
            shift = (self._match(segment.source, number) or (None,))[0]
            if shift is not None and 0 <= segment.start + shift < region.size:
                yield region.start + segment.start + shift - before

    def _fits(self, row: Row, start: int) -> bool:
        """Return whether the term has the elements of a row from `start` on."""
        for segment, number, index in self._overlaps(row, start):
            match = None if segment.source == ARBITRARY else self._match(segment.source, number)
            if match is None or (match[0] is not None and segment.start + match[0] != index):
                return False
        return True

    def _others(self, row: Row, start: int) -> set[Others]:
        """Return the bases along other dims that a row asks for, which fits; scalars ask for none."""
        pairs = [(each.source, number) for each, number, _ in self._overlaps(row, start)]
        matches = [self._match(*each) for each in pairs if self.segments.sources[each[0]].base]
        return {each[1] for each in matches if each is not None}

    def _overlaps(self, row: Row, start: int) -> Iterator[tuple[Segment, int, int]]:
        """Yield the parts of segments in each region of the term, and the index in it at which they would lie."""
        position = start
        for segment in row:
            for number, region in enumerate(self.layout.regions):
                low = max(position, region.start)
                if low < min(position + segment.size, region.start + region.size):
                    yield segment._replace(start=segment.start + low - position), number, low - region.start
            position += segment.size

    def _match(self, source: int, number: int) -> tuple[int | None, Others] | None:
        key = source, number
        if key not in self._matches:
            view, region = self.segments.sources[source], self.layout.regions[number]
            is_whole = view.term is self.layout.term
            self._matches[key] = self._matched(view, self.layout.part(region) if is_whole else region.content)
        return self._matches[key]

    def _matched(self, source: View, content: View) -> tuple[int | None, Others] | None:
        """Return where element 0 of a source is in the content of a region, and their distances along other dims.

        None if they are different values, or repeated along the dim, or reach over the end of another dim.
        """
        if source.term is not content.term or source.outside is not None:
            return None
        shift: int | None = None
        others: list[Offset] = []
        used: set[int] = set()
        for position, local in enumerate(self.layout.local_dims):
            (dim, stride), is_own = _range(source.dims[local]), position == self.layout.dim
            if (dim, stride) != _range(content.dims[position]):
                return None
            if dim == FREE:
                is_part = self.segments.shape[local] != self.layout.term.shape[position]
                if source.base and not is_own and is_part:
                    return None  # where it lies is not known; that of a scalar does not matter
                others.append(0)
                continue
            used.add(dim)
            distance = plus(source.base[dim], content.base[dim], -1)
            if is_own:
                if not isinstance(distance, int) or distance % stride:
                    return None
                shift = distance // stride
            elif stride != 1:
                return None
            others.append(0 if is_own else distance)
        rest = [dim for dim in range(len(source.base)) if dim not in used]
        return (shift, tuple(others)) if all(source.base[dim] == content.base[dim] for dim in rest) else None


def _range(digits: Digits) -> tuple[int, int]:
    """Return the dim of a term and the step of a local dim that is a range of it; FREE for none."""
    first = next(iter(digits), None)
    return (FREE, 0) if first is None or first.dim == FREE else (first.dim, first.stride)


def _completed(
    starts: list[int | None], count: int, size: int, fits: Callable[[int, int], bool]
) -> tuple[int, ...] | None:
    """Return the starts of windows of `count` of `size` elements, with those that are not known at some that fit.

    Several may fit where a term repeats a scalar. Those are preferred with which devices have shards in the order of a
    mesh of two axes.
    """
    if None not in starts:
        return tuple(each for each in starts if each is not None)
    known = [(device, start) for device, start in enumerate(starts) if start is not None]
    for shard in _orders(len(starts), -(-size // count)):
        if all(shard(device) * count == start for device, start in known):
            found = tuple(shard(device) * count for device in range(len(starts)))
            if all(fits(device, start) for device, start in enumerate(found)):
                return found
    first = [
        next((each for each in range(0, size, count) if fits(device, each)), None) if start is None else start
        for device, start in enumerate(starts)
    ]
    return None if None in first else tuple(each for each in first if each is not None)


def _orders(devices: int, shards: int) -> Iterator[Callable[[int], int]]:
    """Yield functions from a device to its shard: by one digit of the number of the device, or by two."""
    strides = [each for each in range(1, devices + 1) if devices % each == 0]
    for stride in strides:
        yield lambda device, stride=stride: device // stride % shards
    for minor in (each for each in range(2, shards) if shards % each == 0):
        for one, other in permutations(strides, 2):
            yield (
                lambda device, one=one, other=other, minor=minor: (
                    device // one % (shards // minor) * minor + device // other % minor
                )
            )
