"""Lemmas of ops that put values together from segments of windows, as devices that exchange parts of shards do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from sdy.evidence.proof.factors import number
from sdy.evidence.proof.known import ints_of
from sdy.evidence.proof.offsets import Offset, clamped, is_inside
from sdy.evidence.proof.relations import (
    FREE,
    Known,
    NotProvedError,
    Relation,
    Segments,
    View,
    dim_of,
    extents,
    is_within,
)
from sdy.evidence.proof.segments.operations import (
    as_segments,
    chosen,
    joined,
    on_each_source,
    overwritten,
    part_of,
    sent,
    with_size,
)
from sdy.evidence.proof.segments.windows import as_window, windows_of_larger
from sdy.evidence.proof.terms import Shape, Term
from sdy.evidence.proof.views import slice_along
from sdy.evidence.proof.walk import Walk, free, is_on_devices, known_or_view

Part = View | Known | Segments


def part(relation: Relation) -> Part:
    """Return a relation of which there may be segments. Raises: NotProvedError for other ones."""
    return relation if isinstance(relation, Segments) else known_or_view(relation)


def on_one_device(walk: Walk, op: Operation) -> bool:
    """Return whether an op runs on a device, and not on the values of the global program."""
    return not walk.table.is_recording or is_on_devices(walk, op)


def either(first: Callable[[], Relation], second: Callable[[], Relation]) -> Relation:
    """Return the first relation, or the second one if it is not proved. Raises: NotProvedError of the first."""
    try:
        return first()
    except NotProvedError as error:
        try:
            return second()
        except NotProvedError:
            raise error from None


def windows_or_segments(walk: Walk, windows: Callable[[], Relation], segments: Callable[[], Relation]) -> Relation:
    """Return a window of the global program, or segments where there is none."""
    found = either(windows, segments)
    if not isinstance(found, View) or walk.table.is_global(found.term):
        return found
    other = either(segments, lambda: found)
    return other if isinstance(other, View) else found


def concatenated_segments(walk: Walk, operands: Sequence[Part], dim: int) -> View | Segments:
    """Lemma: a concatenation has the segments of its operands, one after the other."""
    return _result(walk, joined([as_segments(each, dim, walk.devices, walk.table) for each in operands]))


def edged_segments(walk: Walk, value: Part, filling: View, dim: int, low: int, high: int) -> View | Segments:
    """Lemma: padding adds segments of a scalar before and after those of a value; negative padding removes some."""
    found = as_segments(value, dim, walk.devices, walk.table)
    start, end = max(0, -low), found.shape[dim] - max(0, -high)
    if filling.base or filling.partial is not None or filling.term.is_varying or end < start:
        raise NotProvedError("expected padding by a scalar that all devices share")
    parts = [part_of(found, start, end - start)] if start < end else []
    before, after = (
        [_repeated(walk, filling, with_size(found.shape, dim, size), dim)] if size > 0 else [] for size in (low, high)
    )
    return _result(walk, joined([*before, *parts, *after]))


def _repeated(walk: Walk, scalar: View, shape: Shape, dim: int) -> Segments:
    return as_segments(free(scalar.term, shape), dim, walk.devices, walk.table)


def sliced_segments(
    walk: Walk, value: Segments, starts: Sequence[View | Known | int], shape: Shape, strides: Sequence[int] = ()
) -> View | Segments:
    """Lemma: a slice along the dim of segments has some of them; along other dims, it slices their windows."""
    found = value
    for dim, size in enumerate(shape):
        if size == value.shape[dim]:
            continue
        start = _known_start(walk, starts[dim], value.shape[dim] - size)
        step = strides[dim] if strides else 1
        if dim == value.dim:
            if step != 1:
                raise NotProvedError("a slice of segments that takes steps")
            found = part_of(found, start, size)
            continue

        def window(source: View, dim: int = dim, start: Offset = start, size: int = size, step: int = step) -> View:
            sliced = slice_along(source, dim, start, size, step)
            assert isinstance(sliced, View)
            return sliced

        found = on_each_source(found, with_size(found.shape, dim, size), window)
    return _result(walk, found)


def updated_segments(walk: Walk, value: Part, update: Part, starts: Sequence[View | Known]) -> View | Segments:
    """Lemma: an update at a known start replaces the segments that it covers."""
    partial = [dim for dim, size in enumerate(update.shape) if size != value.shape[dim]]
    if len(partial) > 1:
        raise NotProvedError("an update of a part of two dims")
    dims = [each.dim for each in (value, update) if isinstance(each, Segments)]
    dim = partial[0] if partial else dims[0] if dims else 0
    start = _known_start(walk, starts[dim], value.shape[dim] - update.shape[dim])
    segments, new = (as_segments(each, dim, walk.devices, walk.table) for each in (value, update))
    return _result(walk, overwritten(segments, new, start))


def joined_dim(op: Operation) -> int | None:
    """Return the dim along which the result of an op is only concatenated, None if it is not.

    Zeros that it has on some devices are then those of segments, and no contributions to sums.
    """
    users = [use.operation for result in op.results for use in result.uses]
    dims = {number(user, "dimension") if user.name == "stablehlo.concatenate" else -1 for user in users}
    return None if len(dims) != 1 or dims == {-1} else dims.pop()


def selected_segments(walk: Walk, mask: Part, kept: Part, other: Part, dim: int | None = None) -> View | Segments:
    """Lemma: a mask that is known on each device takes segments of two values, along `dim` if nothing else tells."""
    if not isinstance(mask, Known):
        raise NotProvedError("expected a mask that is known on each device")
    dims = {each.dim for each in (kept, other) if isinstance(each, Segments)}
    dims |= set() if mask.dim is None else {mask.dim}
    dims |= set() if dim is None or dims else {dim}
    if len(dims) != 1:
        raise NotProvedError("expected a mask along the dim of the segments")
    return _result(walk, _selected(walk, mask, kept, other, *dims))


def _selected(walk: Walk, mask: Known, kept: Part, other: Part, dim: int) -> Segments:
    size = kept.shape[dim]
    rows = [[bool(each) for each in row] * (size if mask.dim is None else 1) for row in mask.rows]
    one, two = (as_segments(each, dim, walk.devices, walk.table) for each in (kept, other))
    return chosen(rows, one, two)


def padded_segments(walk: Walk, mask: Known, kept: Part, other: Part) -> View | None:
    """Lemma: where a mask takes a scalar outside of a value, the result may be a window of a padded copy of it.

    None if the global program has no such copy.
    """
    varying = [dim for dim, digits in enumerate(kept.dims) if dim_of(digits) != FREE] if isinstance(kept, View) else []
    for dim in varying if mask.dim is None else [mask.dim]:
        try:
            found = windows_of_larger(_selected(walk, mask, kept, other, dim), walk.table)
        except NotProvedError:
            continue
        inside = next((each for each in found if is_within(each)), None)
        if inside is not None:
            return inside
    return None


def sent_segments(walk: Walk, value: Part, pairs: Sequence[tuple[int, int]], zero: Term) -> View | Segments:
    """Lemma: a permutation gives each target the segments of its source."""
    dim = value.dim if isinstance(value, Segments) else 0
    if isinstance(value, View):
        sizes = zip(value.base, extents(value), value.term.shape, strict=True)
        over = {number for number, each in enumerate(sizes) if not is_inside(*each)}
        dim = next((dim for dim, digits in enumerate(value.dims) if dim_of(digits) in over), 0)
    return _result(walk, sent(as_segments(value, dim, walk.devices, walk.table), pairs, zero))


def _result(walk: Walk, segments: Segments) -> View | Segments:
    return as_window(segments, walk.table) or segments


def _known_start(walk: Walk, start: View | Known | int, last: int) -> Offset:
    """Return a start, clamped to `[0, last]`. Raises: NotProvedError if it is not known on each device."""
    found = start if isinstance(start, int) else ints_of(start, walk.devices) if isinstance(start, Known) else None
    if found is None:
        raise NotProvedError("expected a start that is known on each device")
    return clamped(found, last)
