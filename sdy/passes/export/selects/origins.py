"""Origins of the elements of a value, in segments along one dim and on each device.

    %2 = concatenate %0, %1      [0:1] is %0, [1:4] is %1 moved by one
    %3 = select %first, %2, %x   the same on the first device, and %x on all others
    %4 = gather %0 at %number    %0 moved by the number of the device, if that is known

The zeros of a permute are those that devices get to which nothing is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.ir import SSAValue

from sdy.cost.collectives import group_rows
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import codec_of
from sdy.dialects.splats import splat_of
from sdy.dialects.stablehlo.attributes.attrs import has_channel
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp
from sdy.dialects.stablehlo.elementwise import SelectOp
from sdy.dialects.stablehlo.gather_scatter import GatherOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ReshapeOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, DynamicSliceOp, PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.emit.emitter import with_shape
from sdy.partitioner.emit.slices import sliced_dim
from sdy.passes.export.selects.known_values import KnownValues, Mask, devices_of, entry, shortened

Span = tuple[int, int]  # the first position, and the one after the last
MOST_SEGMENTS = 8
MOST_OPS = 16  # from a value back to where its elements come from


@dataclass(frozen=True, slots=True)
class Moved:
    """Elements of another value: position p along the dim has the element at p + `shift`."""

    value: SSAValue
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Splat:
    """One element everywhere, by its bytes."""

    raw: bytes


Origin = Moved | Splat


@dataclass(frozen=True, slots=True)
class Segment:
    """The positions from `start` to before `end`, and their origin on each device."""

    start: int
    end: int
    origins: tuple[Origin, ...]

    def moved(self, distance: int) -> Segment:
        """Return the segment of a value in which all elements stand `distance` positions later."""
        origins = (
            Moved(each.value, each.shift - distance) if isinstance(each, Moved) else each for each in self.origins
        )
        return Segment(self.start + distance, self.end + distance, tuple(origins))


class Origins:
    """Finds the origins of values along a dim."""

    def __init__(self, known: KnownValues, *, counts_replicas: bool) -> None:
        self._known = known
        self._counts_replicas = counts_replicas
        self._found: dict[tuple[SSAValue, int, Span], list[Segment]] = {}

    def of(self, value: SSAValue, dim: int) -> list[Segment]:
        """Return the segments of a value in order; no two neighbors have the same origins."""
        return self._of(value, dim, (0, shape_of(value)[dim]), MOST_OPS)

    def dim_of(self, value: SSAValue, depth: int = MOST_OPS) -> int | None:
        """Return the dim along which a value has segments; None if it has one segment, whatever the dim."""
        op = value.owner
        match op:
            case ConcatenateOp():
                return op.dimension.value.data
            case SliceOp():
                return sliced_dim(op)
            case PadOp():
                return _padded_dim(op)
            case GatherOp() | DynamicSliceOp():
                return self._taken(op)[0]
            case SelectOp() if depth and (mask := self._known.mask(op.pred)) is not None:
                if mask.dim is not None:
                    return mask.dim
                of_true = self.dim_of(op.on_true, depth - 1)
                return self.dim_of(op.on_false, depth - 1) if of_true is None else of_true
            case _:
                return None

    def receives(self, permute: CollectivePermuteOp) -> tuple[bool, ...] | None:
        """Return which devices receive something; None if devices are not numbered so."""
        return self._devices(permute, 1)

    def sends(self, permute: CollectivePermuteOp) -> tuple[bool, ...] | None:
        """Return which devices send something; None if devices are not numbered so."""
        return self._devices(permute, 0)

    def _devices(self, permute: CollectivePermuteOp, column: int) -> tuple[bool, ...] | None:
        if has_channel(permute) is self._counts_replicas:
            return None
        devices = {pair[column] for pair in group_rows(permute.source_target_pairs)}
        return shortened([device in devices for device in range(max(devices, default=-1) + 2)])

    def _of(self, value: SSAValue, dim: int, span: Span, depth: int) -> list[Segment]:
        """Return the segments of the positions in a span, after `depth` ops at most."""
        key = value, dim, span
        if key not in self._found:
            found = _merged(self._compute(_without_unit_dims(value), dim, span, depth))
            self._found[key] = found if len(found) <= MOST_SEGMENTS else [Segment(*span, (Moved(value),))]
        return self._found[key]

    def _compute(self, value: SSAValue, dim: int, span: Span, depth: int) -> Iterable[Segment]:
        op, splat = value.owner, splat_of(value)
        if splat is not None:
            return [Segment(*span, (Splat(splat.data.raw),))]
        match op:
            case CollectivePermuteOp():
                receives, zero = self.receives(op), zero_of(value)
                if receives is not None and zero is not None:
                    return [Segment(*span, tuple(Moved(value) if each else zero for each in receives))]
            case ConcatenateOp() if depth and op.dimension.value.data == dim:
                return self._of_concatenate(op, dim, span, depth)
            case SliceOp() if depth and sliced_dim(op) == dim:
                first = ints_of(op.start_indices)[dim]
                found = self._of(op.operand, dim, (span[0] + first, span[1] + first), depth - 1)
                return [each.moved(-first) for each in found]
            case PadOp() if depth and _padded_dim(op) == dim:
                return self._of_pad(op, dim, span, depth)
            case GatherOp() | DynamicSliceOp() if (taken := self._taken(op))[0] == dim:
                return [Segment(*span, tuple(Moved(op.operand, start) for start in taken[1]))]
            case SelectOp() if depth and (mask := self._known.mask(op.pred)) is not None and mask.dim in (None, dim):
                return _chosen(mask, *(self._of(each, dim, span, depth - 1) for each in (op.on_true, op.on_false)))
            case _:
                pass
        return [Segment(*span, (Moved(value),))]

    def _taken(self, op: GatherOp | DynamicSliceOp) -> tuple[int | None, tuple[int, ...]]:
        """Return the dim along which an op takes one slice, and where that starts on each device; None if unknown."""
        before, after = shape_of(op.operand), shape_of(op.result)
        dims = [dim for dim, (size, own) in enumerate(zip(before, after, strict=False)) if size != own]
        if isinstance(op, GatherOp):
            numbers, starts = op.dimension_numbers.data, op.start_indices
            is_slice = len(numbers.offset_dims) == len(before) == len(after)
            is_known = [*numbers.start_index_map] == dims
        else:
            is_slice, is_known, starts = True, len(dims) == 1, op.start_indices[dims[0]] if dims else op.operand
        if is_slice and not dims:
            return 0, (0,)  # starts are clamped, so that the slice is the operand itself
        known = self._known.numbers(starts) if is_slice and is_known else None
        if known is None or known.dim is not None:
            return None, ()
        last = before[dims[0]] - after[dims[0]]
        return dims[0], tuple(min(max(start, 0), last) for start in known.offsets)

    def _of_pad(self, op: PadOp, dim: int, span: Span, depth: int) -> list[Segment]:
        """Return the segments of the operand, and the elements around it."""
        filler = splat_of(op.padding_value)
        if filler is None:
            return [Segment(*span, (Moved(op.result),))]
        low = ints_of(op.edge_padding_low)[dim]
        first, last = min(max(span[0], low), span[1]), min(max(span[0], low + shape_of(op.operand)[dim]), span[1])
        inside = self._of(op.operand, dim, (first - low, last - low), depth - 1) if first < last else []
        around = (Splat(filler.data.raw),)
        segments = [
            Segment(span[0], first, around),
            *(each.moved(low) for each in inside),
            Segment(last, span[1], around),
        ]
        return [each for each in segments if each.start < each.end]

    def _of_concatenate(self, op: ConcatenateOp, dim: int, span: Span, depth: int) -> Iterator[Segment]:
        position = 0
        for operand in op.inputs:
            size = shape_of(operand)[dim]
            start, end = max(span[0], position), min(span[1], position + size)
            if start < end:
                for each in self._of(operand, dim, (start - position, end - position), depth - 1):
                    yield each.moved(position)
            position += size


def _without_unit_dims(value: SSAValue) -> SSAValue:
    """Return the value to which a broadcast only adds dims of one element, which a reshape then removes."""
    op = value.owner
    if isinstance(op, ReshapeOp) and isinstance(op.operand.owner, BroadcastInDimOp):
        inner = op.operand.owner
        dims = ints_of(inner.broadcast_dimensions)
        if inner.operand.type == value.type and list(dims) == sorted(dims):
            return inner.operand
    return value


def _padded_dim(op: PadOp) -> int | None:
    """Return the only dim that a pad extends; None if it changes several, or inserts or removes elements elsewhere."""
    low, high = ints_of(op.edge_padding_low), ints_of(op.edge_padding_high)
    dims = [dim for dim, edges in enumerate(zip(low, high, strict=True)) if any(edges)]
    is_simple = min((*low, *high), default=0) >= 0 and not any(ints_of(op.interior_padding))
    return dims[0] if len(dims) == 1 and is_simple else None


def zero_of(value: SSAValue) -> Splat | None:
    """Return the zero that a device gets which receives nothing; None if constants do not support the type."""
    if codec_of(element_type_of(value)) is None:
        return None
    return Splat(DenseElementsAttr.from_values(with_shape(value, [1]), [0]).data.raw)


def _chosen(mask: Mask, on_true: list[Segment], on_false: list[Segment]) -> Iterator[Segment]:
    """Yield the segments of what a mask selects from two values."""
    first, last = on_true[0].start, on_true[-1].end
    changes = () if mask.dim is None else frozenset[int]().union(*mask.toggles)
    bounds = sorted({each.start for each in (*on_true, *on_false)} | {each for each in changes if first < each < last})
    for start, end in zip(bounds, [*bounds[1:], last], strict=True):
        is_true = mask.at(start)
        one, other = (_at(segments, start).origins for segments in (on_true, on_false))
        devices = devices_of(is_true, one, other)
        yield Segment(start, end, shortened([entry(one if entry(is_true, at) else other, at) for at in devices]))


def _at(segments: list[Segment], position: int) -> Segment:
    """Return the segment of a position, or the last one, whose end is the position if a dim has no elements."""
    return next((each for each in segments if position < each.end), segments[-1])


def _merged(segments: Iterable[Segment]) -> list[Segment]:
    """Return the segments with neighbors of the same origins merged."""
    merged: list[Segment] = []
    for each in segments:
        if merged and merged[-1].origins == each.origins:
            merged[-1] = Segment(merged[-1].start, each.end, each.origins)
        else:
            merged.append(each)
    return merged
