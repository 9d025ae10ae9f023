"""The lemma of convolutions and pooling: a device with a window of the input computes a window of the result.

Result j of an op with stride s reads position `j * s - low + k * step` of the input for each element k of the kernel,
where elements of the input are `gap` positions apart, and others are padding. A device that has the elements from b
on, with padding `low'`, reads the same as result `j + (b * gap + low - low') / s` of the global op, if its padding is
where the global op has padding too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from xdsl.ir import Operation

from sdy.dialects.stablehlo.window import ConvolutionOp
from sdy.evidence.proof.compute import Computation, computed
from sdy.evidence.proof.factors import Factors, ints
from sdy.evidence.proof.offsets import Offset, divided, plus, spread
from sdy.evidence.proof.readings import plain_readings
from sdy.evidence.proof.relations import FREE, Digit, Known, NotProvedError, View, dim_of, tidy
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.terms import Arguments, Shape, Term
from sdy.evidence.proof.walk import Walk, element_of, shape_of


class Along(NamedTuple):
    """The windows along a dim: their size, the distances between windows and in them, gaps in the input, padding."""

    dim: int
    result_dim: int
    size: int
    stride: int
    step: int
    gap: int
    low: int
    high: int

    @property
    def span(self) -> int:
        """The number of positions from the first to the last element of a window."""
        return (self.size - 1) * self.step + 1

    def count(self, elements: int) -> int:
        """Return the number of windows of so many elements."""
        return ((elements - 1) * self.gap + 1 + self.low + self.high - self.span) // self.stride + 1


class WindowAttributes(NamedTuple):
    """The attributes of a convolution or pooling op: the windows along dims, and the rest."""

    rest: object
    along: tuple[Along, ...]


CONVOLUTION_WINDOWS = ("padding", "window_strides", "lhs_dilation", "rhs_dilation")


def convolution_windows(op: ConvolutionOp) -> tuple[Along, ...]:
    """Return the windows along the spatial dims of a convolution."""
    numbers, kernel = op.dimension_numbers.data, shape_of(op.rhs)
    sizes = [kernel[dim] for dim in numbers.kernel_spatial_dimensions]
    dims = zip(numbers.input_spatial_dimensions, numbers.output_spatial_dimensions, sizes, strict=True)
    names = ("window_strides", "rhs_dilation", "lhs_dilation")
    return tuple(_along(op, names, index, *each) for index, each in enumerate(dims))


def pooling_windows(op: Operation) -> tuple[Along, ...]:
    """Return the windows of a pooling op along the dims that have others than those of single elements."""
    names = ("window_strides", "window_dilations", "base_dilations")
    sizes = ints(op, "window_dimensions") or (1,) * len(shape_of(op.operands[0]))
    every = (_along(op, names, dim, dim, dim, size) for dim, size in enumerate(sizes))
    return tuple(each for each in every if each[2:] != (1, 1, each.step, 1, 0, 0))


def _along(op: Operation, names: Sequence[str], index: int, dim: int, result_dim: int, size: int) -> Along:
    stride, step, gap = ((ints(op, name) or (1,) * (index + 1))[index] for name in names)
    low, high = (ints(op, "padding") or (0,) * (2 * index + 2))[2 * index : 2 * index + 2]
    return Along(dim, result_dim, size, stride, step if size > 1 else 1, gap, low, high)


@dataclass(frozen=True, slots=True)
class Windowed:
    """An op on windows of its first operand: its attributes, and its factors given the attributes.

    `pads` tells whether the op pads with a scalar.
    """

    op: Operation
    attributes: WindowAttributes
    factors: Callable[[WindowAttributes], Factors]
    pads: Callable[[Term], bool]

    def computation(self, walk: Walk, attributes: WindowAttributes, shape: Shape) -> Computation:
        """Return the computation of a result of a shape."""
        factors, element = self.factors(attributes), element_of(self.op.results[0])
        return Computation(self.op.name, factors, (shape,), (element,), walk.devices)


def over_windows(walk: Walk, windowed: Windowed, operands: Sequence[View | Known]) -> View:
    """Return the relation of the result. Raises: NotProvedError if the lemma does not hold."""
    shape, attributes = shape_of(windowed.op.results[0]), windowed.attributes
    value, *others = operands
    if walk.table.is_recording:
        value = cleaned(value, walk.table) if isinstance(value, View) else value
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
        _Shards(walk, windowed, view, whole).result(term, others)
        for view, term, whole in _global_ops(walk, windowed, value)
    )
    return next((each for each in found if each is not None), None)


def _global_ops(walk: Walk, windowed: Windowed, value: View) -> Iterator[tuple[View, Term, WindowAttributes]]:
    """Yield each reading of a value, and a result of the global program with the attributes of its windows.

    The global program computes that result by the same op. Only the windows of both may differ.
    """
    try:
        readings = plain_readings(value, walk.table)
    except NotProvedError:
        return
    for view in readings:
        for derived in walk.table.derived(view.term):
            term = derived.term
            own = term.attributes.own if isinstance(term.attributes, Arguments) else None
            if (
                term.op == windowed.op.name
                and isinstance(own, WindowAttributes)
                and own.rest == windowed.attributes.rest
            ):
                yield view, term, own


@dataclass(frozen=True, slots=True)
class _Shards:
    """A device's windows of a view of the input, and those of an op of the global program."""

    walk: Walk
    windowed: Windowed
    view: View
    whole: WindowAttributes

    def result(self, term: Term, others: Sequence[View | Known]) -> View | None:
        """Return the result of the device as a window of `term`, the result of the global op; None if it is none."""
        shape = shape_of(self.windowed.op.results[0])
        starts: dict[int, Offset] = {}  # of the windows of the device, by dim
        own = {each.dim: each for each in self.windowed.attributes.along}
        if own.keys() != {each.dim for each in self.whole.along}:
            return None
        for along in self.whole.along:
            if dim_of(self.view.dims[along.dim]) == FREE:
                if own[along.dim] != along:
                    return None
                continue
            start = self._start(own[along.dim], along, shape[along.result_dim])
            if start is None:
                return None
            starts[along.dim] = start
        found = _windows_of_op(self.walk, self.windowed, self.whole, self.view, others, starts)
        return found if found is not None and found.term is term else None

    def _start(self, own: Along, whole: Along, results: int) -> Offset | None:
        """Return the number of the first window of each device; None if its windows are others than the global ones."""
        if own._replace(low=0, high=0) != whole._replace(low=0, high=0):
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
    work = windowed.computation(walk, whole, tuple(shape))
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
