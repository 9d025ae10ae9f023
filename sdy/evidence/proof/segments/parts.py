"""Segments of terms that are put together, as segments of what these terms consist of."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from sdy.evidence.proof.concatenation_layouts import Layout, Region, layout_of
from sdy.evidence.proof.offsets import Offset, plus
from sdy.evidence.proof.relations import ARBITRARY, FREE, Digit, Digits, Segment, Segments, View, dim_of
from sdy.evidence.proof.segments.operations import Row, joined, repeats


class _LocalRegion(NamedTuple):
    """A range of a term along the dim of segments: what lies there, and the first element of it."""

    start: int
    size: int
    content: View
    first: int


def taken_apart(segments: Segments) -> Segments:
    """Return segments of the parts of terms that devices have put together along the dim; themselves without any."""
    sources = list(segments.sources)
    numbered: dict[int, list[tuple[_LocalRegion, int]]] = {}
    for number, source in enumerate(segments.sources):
        regions = _regions_of(source, segments)
        if regions is not None:
            numbered[number] = [(each, len(sources) + index) for index, each in enumerate(regions)]
            sources += [each.content for each in regions]
    if not numbered:
        return segments
    rows = tuple(
        tuple(part for each in row for part in _parts(each, numbered.get(each.source), sources, segments.dim))
        for row in segments.rows
    )
    return joined([replace(segments, sources=tuple(sources), rows=rows)])


def _parts(segment: Segment, regions: list[tuple[_LocalRegion, int]] | None, sources: list[View], dim: int) -> Row:
    """Return a segment as segments of what its source consists of."""
    if regions is None or segment.source == ARBITRARY:
        return (segment,)
    found: list[Segment] = []
    end = segment.start + segment.size
    for each, number in regions:
        low, high = max(segment.start, each.start), min(end, each.start + each.size)
        if low < high:
            start = 0 if repeats(sources[number], dim) else low - each.start + each.first
            found.append(Segment(high - low, number, start))
    return tuple(found) if sum(each.size for each in found) == segment.size else (segment,)


def _regions_of(source: View, segments: Segments) -> list[_LocalRegion] | None:
    """Return what a source consists of along the dim of segments, None if it is not put together along it."""
    layout = layout_of(source.term, segments.dim, len(segments.shape)) if source.base else None
    if layout is None or source.outside is not None or source.base[layout.dim] != 0:
        return None
    for local, digits in enumerate(source.dims):
        own = layout.local_dims.index(local) if local in layout.local_dims else FREE
        if digits and digits != (Digit(digits[0].size, own, 0 if own == FREE else 1),):
            return None  # in another order, or a part that takes steps
    found = [_in_local_dims(source, region, layout, segments) for region in layout.regions]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else None


def _in_local_dims(source: View, region: Region, layout: Layout, segments: Segments) -> _LocalRegion | None:
    """Return a region of a term in the local dims of a source of it; None if it takes steps there."""
    content, dim = region.content, segments.dim
    base: list[Offset] = list(content.base)
    dims: list[Digits] = list(source.dims)
    first = 0
    for position, local in enumerate(layout.local_dims):
        digits = content.dims[position]
        if dim_of(digits) == FREE:
            dims[local] = () if segments.shape[local] == 1 or local == dim else (Digit(segments.shape[local], FREE, 0),)
            continue
        (digit,) = digits
        start = base[digit.dim]
        if digit.stride != 1:
            return None
        if local == dim:
            if not isinstance(start, int):
                return None
            base[digit.dim], first, dims[local] = 0, start, (Digit(1, digit.dim, 1),)
        else:
            base[digit.dim] = plus(start, source.base[position])
            dims[local] = (Digit(segments.shape[local], digit.dim, 1),) if source.dims[local] else ()
    return _LocalRegion(region.start, region.size, replace(content, base=tuple(base), dims=tuple(dims)), first)
