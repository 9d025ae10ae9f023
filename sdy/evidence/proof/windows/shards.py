"""The lemma of convolutions and pooling: a device with a window of the input computes a window of the result.

Result j of an op with stride s reads position `j * s - low + k * step` of the input for each element k of the kernel,
where elements of the input are `gap` positions apart, and others are padding. A device that has the elements from b
on, with padding `low'`, reads the same as result `j + (b * gap + low - low') / s` of the global op, if its padding is
where the global op has padding too. With the elements of the kernel from c on alone, it computes contributions to
result j, if `b * gap + low - low'` is `c * step`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sdy.evidence.proof.compute import computed
from sdy.evidence.proof.offsets import Offset, divided, plus, spread
from sdy.evidence.proof.readings import plain_readings
from sdy.evidence.proof.relations import FREE, Digit, Digits, Known, NotProvedError, View, dim_of, is_plain, tidy
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.terms import Arguments, Padded, Term
from sdy.evidence.proof.walk import Walk, shape_of
from sdy.evidence.proof.windows.attributes import Along, SharedOut, WindowAttributes, Windowed


def over_windows(walk: Walk, windowed: Windowed, operands: Sequence[View | Known]) -> View:
    """Return the relation of the result. Raises: NotProvedError if the lemma does not hold."""
    shape, attributes = shape_of(windowed.op.results[0]), windowed.attributes
    value, *others = operands
    if walk.table.is_recording:
        if isinstance(value, View):
            value, attributes = unpadded(walk, cleaned(value, walk.table), windowed) or (value, attributes)
        result = computed(windowed.computation(walk, attributes, shape), [value, *others], walk.table)[0]
        walk.table.derive(result.term.operands[0], result.term)
        return result
    found: View | None = None
    error: NotProvedError | None = None
    try:
        found = computed(windowed.computation(walk, attributes, shape), operands, walk.table)[0]
    except NotProvedError as failure:
        error = failure
    if found is not None and walk.table.is_global(found.term):
        return found
    larger = _window_of_global(walk, windowed, value, others) if isinstance(value, View) else None
    result = larger or found
    if result is None:
        raise error or NotProvedError("the op has no reading")
    return result


def _window_of_global(walk: Walk, windowed: Windowed, value: View, others: Sequence[View | Known]) -> View | None:
    """Return the result as a window of a result of the global program; None if it is none."""
    found = (
        _Shards(walk, windowed, view, own, whole).result(term, others)
        for view, own, term, whole in _global_ops(walk, windowed, value)
    )
    return next((each for each in found if each is not None), None)


def _global_ops(
    walk: Walk, windowed: Windowed, value: View
) -> Iterator[tuple[View, WindowAttributes, Term, WindowAttributes]]:
    """Yield each reading of a value, the attributes of the op on it, and a result of the global program with its own.

    The global program computes that result by the same op. Only the windows of both may differ.
    """
    for view, attributes in _readings(walk, windowed, value):
        for derived in walk.table.derived(view.term):
            term = derived.term
            own = term.attributes.own if isinstance(term.attributes, Arguments) else None
            if term.op == windowed.op.name and isinstance(own, WindowAttributes) and own.rest == attributes.rest:
                yield view, attributes, term, own


def _readings(walk: Walk, windowed: Windowed, value: View) -> Iterator[tuple[View, WindowAttributes]]:
    try:
        readings = plain_readings(value, walk.table)
    except NotProvedError:
        return
    for view in readings:
        yield view, windowed.attributes
        without_pad = unpadded(walk, view, windowed)
        if without_pad is not None:
            yield without_pad


@dataclass(frozen=True, slots=True)
class _Shards:
    """A device's windows, of a view of the input with its own attributes, and those of an op of the global program."""

    walk: Walk
    windowed: Windowed
    view: View
    attributes: WindowAttributes
    whole: WindowAttributes

    def result(self, term: Term, others: Sequence[View | Known]) -> View | None:
        """Return the result of the device as a window of `term`, the result of the global op; None if it is none."""
        shape = shape_of(self.windowed.op.results[0])
        starts: dict[int, Offset] = {}  # of the windows of the device, by dim
        own = {each.dim: each for each in self.attributes.along}
        if own.keys() != {each.dim for each in self.whole.along}:
            return None
        kernels = {each.dim: self._kernel_start(each.dim, others) for each in self.whole.along}
        for along in self.whole.along:
            if dim_of(self.view.dims[along.dim]) == FREE:
                if own[along.dim] != along:
                    return None
                continue
            start = self._start(own[along.dim], along, shape[along.result_dim], kernels[along.dim])
            if start is None:
                return None
            starts[along.dim] = start
        shared_out = frozenset(dim for dim, start in kernels.items() if start is not None)
        found = _windows_of_op(self.walk, self.windowed, self.whole, self.view, others, starts, shared_out)
        return found if found is not None and found.term is term else None

    def _kernel_start(self, dim: int, others: Sequence[View | Known]) -> Offset | None:
        """Return the first elements of the kernel that devices have, None if they have all elements."""
        kernel_dim = self.windowed.kernel_dims.get(dim)
        if kernel_dim is None or not isinstance(kernel := others[0], View) or not is_plain(kernel):
            return None
        number, count = dim_of(kernel.dims[kernel_dim]), kernel.shape[kernel_dim]
        return None if number == FREE or count == kernel.term.shape[number] else kernel.base[number]

    def _start(self, own: Along, whole: Along, results: int, kernel_start: Offset | None) -> Offset | None:
        """Return the number of the first window of each device; None if its windows are others than the global ones."""
        if kernel_start is not None:
            own = own._replace(step=whole.step) if own.size == 1 else own
        elif own.size != whole.size:
            return None
        if own.shape(whole.size) != whole.shape(whole.size):
            return None
        number = dim_of(self.view.dims[own.dim])
        base, size, count = self.view.base[number], self.view.term.shape[number], self.view.dims[own.dim][0].size
        before = max(0, own.low // own.gap)  # elements that a device reads in its padding, at each end
        last = (results - 1) * own.stride + own.span - 1 - own.low
        after = max(0, last // own.gap - (count - 1))
        for start in spread(base):
            is_over = start < 0 or start + count > size
            if is_over and (self.view.outside is None or not self.windowed.pads(self.view.outside)):
                return None
            if _overlaps(start - before, start, size) or _overlaps(start + count, start + count + after, size):
                return None
        shift = plus(whole.low - own.low, base, own.gap)
        if kernel_start is not None:
            return 0 if plus(shift, kernel_start, -own.step) == 0 else None
        start, rest = divided(shift, own.stride)
        return start if rest == 0 else None


def _overlaps(start: int, end: int, size: int) -> bool:
    """Return whether there are positions from `start` to `end` in a dim of a size."""
    return max(start, 0) < min(end, size)


def _windows_of_op(
    walk: Walk,
    windowed: Windowed,
    whole: WindowAttributes,
    view: View,
    others: Sequence[View | Known],
    starts: Mapping[int, Offset],
    shared_out: SharedOut,
) -> View | None:
    """Return the windows of each device of an op on all elements of `view.term` along some dims of the view.

    `starts` has the first windows of devices by dim; there are as many as the results of the device. Return None if
    the op cannot be computed.
    """
    shape, base, dims = list(shape_of(windowed.op.results[0])), list(view.base), list(view.dims)
    places: dict[int, tuple[Offset, int]] = {}  # the first window and the number of windows, by dim of the result
    for along in whole.along:
        if along.dim in starts:
            number = dim_of(view.dims[along.dim])
            size = view.term.shape[number]
            places[along.result_dim] = starts[along.dim], shape[along.result_dim]
            shape[along.result_dim] = along.count(size)
            base[number], dims[along.dim] = 0, (Digit(size, number, 1),)
    every = replace(view, base=tuple(base), dims=tidy(dims), outside=None)
    work = windowed.computation(walk, whole, tuple(shape), shared_out)
    try:
        found = computed(work, [every, *others], walk.table)[0]
    except NotProvedError:
        return None
    return _placed(found, places)


def _placed(found: View, starts: dict[int, tuple[Offset, int]]) -> View | None:
    """Return a result as the windows of a device, given their starts and numbers; None if it has no such dim."""
    base, dims = list(found.base), list(found.dims)
    for dim, (start, count) in starts.items():
        number = dim_of(dims[dim])
        if number != FREE:
            base[number], dims[dim] = start, (Digit(count, number, 1),)
        elif start != 0 or count != 1:
            return None
    return replace(found, base=tuple(base), dims=tidy(dims))


def padded_copy(value: View, result: View, filling: Term, amounts: Sequence[tuple[int, int, int]]) -> Padded | None:
    """Return what a padded copy is of, given the amounts along each local dim; None if a dim cannot be told."""
    found: dict[int, tuple[tuple[int, int, int, int], int]] = {}
    for dim, (digits, edges) in enumerate(zip(result.dims, amounts, strict=True)):
        number = dim_of(digits)
        if number == FREE:
            if any(edges):
                return None
            continue
        found[number] = (dim_of(value.dims[dim]), *edges), value.shape[dim]
    if len(found) != len(result.term.shape):
        return None
    own, sizes = zip(*(found[number] for number in range(len(found))), strict=True)
    return Padded(value.term, filling, own, sizes)


def unpadded(walk: Walk, view: View, windowed: Windowed) -> tuple[View, WindowAttributes] | None:
    """Return a padded copy as the term that is padded, with the attributes of windows that pad it themselves.

    None unless the term is a copy that is padded by the scalar of the op, along dims with windows that are unsharded.
    """
    padded = walk.table.padded(view.term)
    if padded is None or not windowed.pads(padded.filling) or view.partial is not None:
        return None
    along = {each.dim: each for each in windowed.attributes.along}
    base: list[Offset] = [0] * len(padded.source.shape)
    dims: list[Digits] = []
    for dim, digits in enumerate(view.dims):
        number = dim_of(digits)
        if number == FREE:
            dims.append(digits)
            continue
        inner, low, high, interior = padded.dims[number]
        size, own = padded.sizes[number], along.get(dim)
        if not (low or high or interior):
            dims.append((Digit(digits[0].size, inner, 1),))
            base[inner] = view.base[number]
            continue
        is_whole = view.base[number] == 0 and digits[0].size == view.term.shape[number]
        if own is None or own.gap > 1 or min(low, high, own.low, own.high) < 0 or not is_whole:
            return None
        along[dim] = own._replace(low=own.low + low, high=own.high + high, gap=interior + 1)
        dims.append(() if inner == FREE else (Digit(size, inner, 1),))
    source = View(padded.source, tuple(base), tidy(dims), view.outside)
    return source, windowed.attributes._replace(along=tuple(along[each.dim] for each in windowed.attributes.along))
