"""Padding of ops that take parts of tensors, or put them together.

Source: docs/spec/06, 2.6 and 8.2 (G46, G47, G50).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo import gather_scatter, slicing
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.emit.emitter import Emitter, ints, tensor_of
from sdy.partitioner.emit.sharded_emitter import annotated
from sdy.partitioner.on_shards.shard_offsets import pad_shifts, slice_shifts
from sdy.partitioner.padding.padder import Padder, Rule

RULES = OpTable[Rule]()  # of ops that take indices, wherever reshards are
STATIC_RULES = OpTable[Rule]()  # of those that know where all goes, once reshards are collectives


@STATIC_RULES.of(slicing.SliceOp)
def slice_(op: slicing.SliceOp) -> Rule:
    """Take more instead of padding: what stands behind the slice is as good as any padding."""
    starts, strides = ints_of(op.start_indices), ints_of(op.strides)

    def pad(padder: Padder) -> None:
        sizes, even = shape_of(op.result), padder.wanted(op.result)
        limits = list(ints_of(op.limit_indices))
        for dim, size in enumerate(even):
            if size != sizes[dim]:
                limits[dim] = starts[dim] + (size - 1) * strides[dim] + 1
        if not all(_slices_in_shards(op, dim, even[dim], padder) for dim in range(len(even))):
            padder.compute_whole(op)
            return
        if even != sizes:
            op.limit_indices = ints(limits)
            padder.resize(op.result, even)

    return pad


def _slices_in_shards(op: slicing.SliceOp, dim: int, size: int, padder: Padder) -> bool:
    """Whether a dim of a slice, widened to `size`, takes no element out of its shard."""
    own, count = shape_of(op.operand)[dim], padder.shard_count(op.operand, dim)
    if size == shape_of(op.result)[dim] and own == padder.true_sizes(op.operand)[dim]:
        return True  # not a matter of padding
    if padder.cuts(op.operand)[dim] != padder.cuts(op.result)[dim]:
        return sharding_of(op.result) is None  # of which explicit reshards have not said how it is cut
    start, stride = ints_of(op.start_indices)[dim], ints_of(op.strides)[dim]
    if count == 1:
        return start + (size - 1) * stride < own
    return slice_shifts(start, stride, own // count, size // count, count) is not None


@STATIC_RULES.of(slicing.PadOp)
def pad_(op: slicing.PadOp) -> Rule:
    """Pad less by what is padded already, once that holds the padding value where it comes to lie in the result."""
    low, gaps = ints_of(op.edge_padding_low), ints_of(op.interior_padding)

    def pad(padder: Padder) -> None:
        true_sizes, own, sizes = padder.true_sizes(op.operand), shape_of(op.operand), shape_of(op.result)
        even = padder.wanted(op.result)
        dims = range(len(sizes))
        if not padder.is_before_reshards and not all(_pads_in_shards(op, dim, even[dim], padder) for dim in dims):
            padder.compute_whole(op)
            return
        high = [even[d] - own[d] - low[d] - max(0, own[d] - 1) * gaps[d] for d in dims]
        given = ints_of(op.edge_padding_high)
        is_seen = any(own[d] != true_sizes[d] and low[d] + true_sizes[d] * (gaps[d] + 1) < sizes[d] for d in dims)
        if is_seen or any(new < old for new, old in zip(high, given, strict=True)):
            op.operands[0] = padder.masked(padder.emitter(op), op.operand, op.padding_value, dims)
        if tuple(high) != given:
            op.edge_padding_high = ints(high)
        padder.resize(op.result, even)

    return pad


def _pads_in_shards(op: slicing.PadOp, dim: int, size: int, padder: Padder) -> bool:
    """Whether a dim, padded to `size`, leaves every element in its shard."""
    own, count = shape_of(op.operand)[dim], padder.shard_count(op.operand, dim)
    if size == shape_of(op.result)[dim] and own == padder.true_sizes(op.operand)[dim]:
        return True
    if padder.cuts(op.operand)[dim] != padder.cuts(op.result)[dim]:
        return False
    low, gap = ints_of(op.edge_padding_low)[dim], ints_of(op.interior_padding)[dim]
    return pad_shifts(low, gap, own // count, size // count, count) is not None


@STATIC_RULES.of(slicing.ConcatenateOp)
def concatenate(op: slicing.ConcatenateOp) -> Rule:
    """Padding must not come to lie between the operands."""
    dim = op.dimension.value.data

    def pad(padder: Padder) -> None:
        if padder.cuts(op.result)[dim] or any(dim in padder.padded_dims(value) for value in op.operands):
            padder.compute_whole(op)
        else:
            padder.make_even(op.results)

    return pad


@RULES.of(slicing.DynamicSliceOp)
def dynamic_slice(op: slicing.DynamicSliceOp) -> Rule:
    """Take the padding along with the dims that are taken whole."""

    def pad(padder: Padder) -> None:
        taken = list(ints_of(op.slice_sizes))
        for dim in padder.padded_dims(op.operand):
            if taken[dim] != padder.true_sizes(op.operand)[dim]:
                padder.compute_whole(op)
                return
            taken[dim] = shape_of(op.operand)[dim]
        if padder.wanted(op.result) != tuple(taken):
            padder.compute_whole(op)
            return
        op.slice_sizes = ints(taken)
        padder.resize(op.result, tuple(taken))

    return pad


@RULES.of(slicing.DynamicUpdateSliceOp)
def dynamic_update_slice(op: slicing.DynamicUpdateSliceOp) -> Rule:
    """Padded dims must be replaced whole, or where the update goes would depend on their size."""

    def pad(padder: Padder) -> None:
        padded = {*padder.padded_dims(op.operand), *padder.padded_dims(op.update)}
        own, new = ((shape_of(value), padder.true_sizes(value)) for value in (op.operand, op.update))
        if any(own[0][dim] != new[0][dim] or own[1][dim] != new[1][dim] for dim in padded):
            padder.compute_whole(op)
        else:
            padder.make_even(op.results)

    return pad


@RULES.of(gather_scatter.GatherOp)
def gather(op: gather_scatter.GatherOp) -> Rule:
    """Take the padding along with the dims that are taken whole; elsewhere, keep starts out of it."""

    def pad(padder: Padder) -> None:
        padded = padder.padded_dims(op.operand)
        sizes = list(ints_of(op.slice_sizes))
        true_sizes = padder.true_sizes(op.operand)
        numbers = op.dimension_numbers.data
        if numbers.index_vector_dim in padder.padded_dims(op.start_indices):
            padder.compute_whole(op)
            return
        limits = [true_sizes[dim] - sizes[dim] for dim in numbers.start_index_map]
        one_place = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
        for dim in padded:
            if sizes[dim] == true_sizes[dim] and dim not in one_place:
                sizes[dim] = shape_of(op.operand)[dim]
        if padder.wanted(op.result) != _gathered_sizes(op, sizes):
            padder.compute_whole(op)
            return
        if set(padded).intersection(numbers.start_index_map):
            op.operands[1] = _clamped(padder.emitter(op), op.start_indices, limits, numbers.index_vector_dim, padder)
        op.slice_sizes = ints(sizes)
        padder.make_even(op.results)

    return pad


def _gathered_sizes(op: gather_scatter.GatherOp, slice_sizes: Sequence[int]) -> tuple[int, ...]:
    """The dims of what is gathered by slices of some size."""
    numbers, indices = op.dimension_numbers.data, shape_of(op.start_indices)
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    offsets = iter(size for dim, size in enumerate(slice_sizes) if dim not in dropped)
    batches = iter(size for dim, size in enumerate(indices) if dim != numbers.index_vector_dim)
    return tuple(next(offsets if dim in numbers.offset_dims else batches) for dim in range(len(shape_of(op.result))))


def _clamped(emit: Emitter, indices: SSAValue, limits: list[int], vector_dim: int, padder: Padder) -> SSAValue:
    """The indices, each component between 0 and its limit, where a gather would have put it itself."""
    sharding, element = sharding_of(indices), element_type_of(indices)
    has_vector = vector_dim < len(shape_of(indices))
    limit = emit.constant(TensorType(element, [len(limits)] if has_vector else []), limits)
    largest = annotated(emit.broadcast(limit, tensor_of(indices), [vector_dim] if has_vector else []), sharding)
    zero = emit.constant(TensorType(element, []), [0])
    smallest = annotated(emit.broadcast(zero, tensor_of(indices)), sharding)
    clamped = annotated(emit.clamp(smallest, indices, largest), sharding)
    return padder.note(clamped, padder.true_sizes(indices))
