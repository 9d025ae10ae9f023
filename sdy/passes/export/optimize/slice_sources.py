"""Slice what a value is made of instead of the value, if the axes of a dim divide the slice but not the value.

    before  %1 = concatenate (slice %0 [63:64]), %0, (slice %0 [0:1])     %0 : tensor<64xf32>, [{"x"}]     "x"=4
            %2 = slice %1 [2:66]                                          %1 : tensor<66xf32>
    after   %2 = concatenate (slice %0 [1:64]), (slice %0 [0:1])

Stencils on a value that `jnp.pad` extends at its ends are such slices. Shards of the uneven value do not start where
those of the slice do: both would have to be moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ReshapeOp, ReverseOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.axis_list import lists_overlap, sharded_size
from sdy.model.mesh import Mesh
from sdy.model.sharding import UNSHARDED, TensorSharding
from sdy.model.sharding_update import with_dim
from sdy.partitioner.emit.emitter import Emitter, Style, with_shape
from sdy.partitioner.emit.sharded_emitter import annotated, sliced
from sdy.partitioner.on_shards.value_shardings import ValueShardings
from sdy.passes.rewriting.insertion import replace_by
from sdy.passes.rewriting.op_order import op_order

MOST_OPERANDS = 3  # of a concatenation that slices are merged with
FREE = -1  # in place of a dim of the result, for a dim of one element that is repeated

Span = tuple[int, int]  # the first element, and the one after the last


def slice_sources(module: ModuleOp, shardings: ValueShardings) -> bool:
    """Replace slices of values that axes do not divide by slices of what these are made of; return whether any was.

    Ops without uses remain.
    """
    found = False
    for op in op_order(module).of(SliceOp):
        sharding = sharding_of(op.result)
        if sharding is None or static_shape(op.operand.type) is None or _takes_steps(op):
            continue
        spans = tuple(zip(ints_of(op.start_indices), ints_of(op.limit_indices), strict=True))
        result = _Part(Emitter(op, Style()), shardings.mesh(sharding), sharding, spans).of_sources(op.operand)
        if result is not None:
            replace_by(op, result)
            found = True
    return found


@dataclass(frozen=True, slots=True)
class _Part:
    """A slice to emit: its sharding, and its range along each dim."""

    emit: Emitter
    mesh: Mesh
    sharding: TensorSharding
    spans: tuple[Span, ...]

    @property
    def sizes(self) -> list[int]:
        """The sizes of the slice."""
        return [end - start for start, end in self.spans]

    def of(self, value: SSAValue) -> SSAValue:
        """Return the slice of a value, or of what it is made of; the value itself if that is all of it."""
        if self.sizes == list(shape_of(value)) and sharding_of(value) == self.sharding:
            return value
        result = self.of_sources(value) or self._of_one_operand(value)
        if result is None:
            starts, limits = ([span[end] for span in self.spans] for end in (0, 1))
            result = sliced(self.emit, value, starts, limits, self.sharding)
        return result

    def of_sources(self, value: SSAValue) -> SSAValue | None:
        """Return the slice of what a value is made of; None if the axes divide the value, or if that is not known.

        It is sliced along one dim after the other, so that slices that differ along others share the first one; this
        one is sharded as the value along other dims, unless these have axes of the slice.
        """
        dim = self._more_even_dim(value)
        if dim is None:
            return None
        whole = tuple((0, size) for size in shape_of(value))
        others = with_dim(sharding_of(value) or self.sharding, dim, UNSHARDED)
        is_free = not lists_overlap(self.sharding.dims[dim].axes, [*others.axis_refs()])
        sharding = with_dim(others, dim, self.sharding.dims[dim]) if is_free else self.sharding
        first = replace(self, sharding=sharding, spans=(*whole[:dim], self.spans[dim], *whole[dim + 1 :]))
        result = first._of_what_it_is_made_of(value)
        return None if result is None else self._along(dim, (0, self.sizes[dim])).of(result)

    def _of_one_operand(self, value: SSAValue) -> SSAValue | None:
        """Slice the operand of a concatenation that has all elements of the slice; return None if several have some."""
        source = value.owner
        if isinstance(source, ConcatenateOp):
            taken = self._taken(source)
            if len(taken) == 1:
                ((operand, span),) = taken
                return self._along(source.dimension.value.data, span).of(operand)
        return None

    def _more_even_dim(self, value: SSAValue) -> int | None:
        """Return the first dim that the slice shortens, and whose axes divide the slice but not the value."""
        sizes = list(zip(self.sizes, shape_of(value), strict=True))
        for dim in (dim for dim, (size, whole) in enumerate(sizes) if size < whole):
            count = sharded_size(self.sharding.dims[dim].axes, self.mesh)
            if sizes[dim][0] % count == 0 and _is_uneven(value, dim, count):
                return dim
        return None

    def _of_what_it_is_made_of(self, value: SSAValue) -> SSAValue | None:
        """Return a slice along one dim of what a value is made of; None if that is not known."""
        match value.owner:
            case ConcatenateOp():
                return self._of_concatenation(value.owner)
            case SliceOp() if not _takes_steps(value.owner):
                starts = ints_of(value.owner.start_indices)
                shifted = ((low + start, high + start) for start, (low, high) in zip(starts, self.spans, strict=True))
                return replace(self, spans=tuple(shifted)).of(value.owner.operand)
            case ReverseOp():
                return self._of_reverse(value.owner)
            case BroadcastInDimOp() if static_shape(value.owner.operand.type) is not None:
                return self._of_broadcast(value.owner)
            case ReshapeOp() if static_shape(value.owner.operand.type) is not None:
                return self._of_reshape(value.owner)
            case _:
                return None

    def _of_concatenation(self, op: ConcatenateOp) -> SSAValue | None:
        dim, taken = op.dimension.value.data, self._taken(op)
        if not 0 < len(taken) <= MOST_OPERANDS:
            return None
        (first, *others) = (self._along(dim, span).of(operand) for operand, span in taken)
        return self._emitted(self.emit.concatenate([first, *others], dim)) if others else first

    def _taken(self, op: ConcatenateOp) -> list[tuple[SSAValue, Span]]:
        """Return the operands of a concatenation that have elements of the slice, and the range of these in each."""
        dim, before = op.dimension.value.data, 0
        start, limit = self.spans[dim]
        taken: list[tuple[SSAValue, Span]] = []
        for operand in op.inputs:
            size = shape_of(operand)[dim]
            first, end = max(start - before, 0), min(limit - before, size)
            taken += [(operand, (first, end))] if first < end else []
            before += size
        return taken

    def _along(self, dim: int, span: Span) -> _Part:
        return replace(self, spans=(*self.spans[:dim], span, *self.spans[dim + 1 :]))

    def _of_reverse(self, op: ReverseOp) -> SSAValue:
        dims, sizes = ints_of(op.dimensions), shape_of(op.operand)
        spans = (
            (size - end, size - start) if dim in dims else (start, end)
            for dim, (size, (start, end)) in enumerate(zip(sizes, self.spans, strict=True))
        )
        operand = replace(self, spans=tuple(spans)).of(op.operand)
        return self._emitted(self.emit.value(ReverseOp, [operand], operand.type, {"dimensions": op.dimensions}))

    def _of_broadcast(self, op: BroadcastInDimOp) -> SSAValue:
        operand = self._in_dims(_dims_in_result(op)).of(op.operand)
        dims = ints_of(op.broadcast_dimensions)
        return self._emitted(self.emit.broadcast(operand, with_shape(operand, self.sizes), dims))

    def _of_reshape(self, op: ReshapeOp) -> SSAValue | None:
        dims = _dims_in_result(op)
        return self._emitted(self.emit.reshape(self._in_dims(dims).of(op.operand), self.sizes)) if dims else None

    def _in_dims(self, dims: Sequence[int]) -> _Part:
        """Return the part of an operand whose dims become `dims` of the result; those of one element are whole."""
        spans = tuple((0, 1) if dim == FREE else self.spans[dim] for dim in dims)
        shardings = tuple(UNSHARDED if dim == FREE else self.sharding.dims[dim] for dim in dims)
        return replace(self, spans=spans, sharding=replace(self.sharding, dims=shardings))

    def _emitted(self, value: SSAValue) -> SSAValue:
        return annotated(value, self.sharding)


def _takes_steps(op: SliceOp) -> bool:
    return any(stride != 1 for stride in ints_of(op.strides))


def _is_uneven(value: SSAValue, dim: int, count: int) -> bool:
    """Return whether a number of shards does not divide a dim of a value, or of what is joined along it."""
    if shape_of(value)[dim] % count:
        return True
    op = value.owner
    match op:
        case ConcatenateOp():
            if op.dimension.value.data == dim:
                return any(shape_of(each)[dim] % count for each in op.inputs)
            return _is_uneven(max(op.inputs, key=lambda each: prod(shape_of(each))), dim, count)
        case SliceOp() | ReverseOp() | BroadcastInDimOp() | ReshapeOp() if static_shape(op.operand.type) is not None:
            dims = _dims_in_result(op)
            is_whole = dim in dims and shape_of(op.operand)[dims.index(dim)] == shape_of(value)[dim]
            return is_whole and _is_uneven(op.operand, dims.index(dim), count)
        case _:
            return False


def _dims_in_result(op: SliceOp | ReverseOp | BroadcastInDimOp | ReshapeOp) -> tuple[int, ...]:
    """Return the dim of the result that each dim of the operand becomes, FREE for one of one element that is repeated.

    Return no dims for a reshape that does more than add or remove dims of one element.
    """
    before, after = shape_of(op.operands[0]), shape_of(op.results[0])
    match op:
        case BroadcastInDimOp():
            positions = ints_of(op.broadcast_dimensions)
            is_kept = [size == after[dim] for size, dim in zip(before, positions, strict=True)]
            return tuple(dim if keeps else FREE for dim, keeps in zip(positions, is_kept, strict=True))
        case ReshapeOp():
            longer = [dim for dim, size in enumerate(after) if size != 1]
            if [size for size in before if size != 1] != [after[dim] for dim in longer]:
                return ()
            numbers = iter(longer)
            return tuple(FREE if size == 1 else next(numbers) for size in before)
        case _:
            return tuple(range(len(before)))
