"""Padding rules of slices, pads, concatenations and gathers.

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
from sdy.partitioner.on_shards.combiners import index_bounds
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.padder import Padder, Rule

RULES = OpTable[Rule]()  # ops with indices as operands; before and after reshards
STATIC_RULES = OpTable[Rule]()  # ops with static positions; after reshards only


@STATIC_RULES.of(slicing.SliceOp)
def slice_(op: slicing.SliceOp) -> Rule:
    """Widen the slice instead of padding it: the elements after it serve as padding."""
    starts, strides = ints_of(op.start_indices), ints_of(op.strides)

    def pad(padder: Padder) -> None:
        sizes, even = shape_of(op.result), padder.facts.target_sizes(op.result)
        limits = list(ints_of(op.limit_indices))
        for dim, size in enumerate(even):
            if size != sizes[dim]:
                limits[dim] = starts[dim] + (size - 1) * strides[dim] + 1
        if any(limit > own for limit, own in zip(limits, shape_of(op.operand), strict=True)):
            compute_unpadded(op, padder)
            return
        if even != sizes:
            op.limit_indices = ints(limits)
            padder.resize(op.result, even)

    return pad


@STATIC_RULES.of(slicing.PadOp)
def pad_(op: slicing.PadOp) -> Rule:
    """Pad less by the padding of the operand, which first gets the padding value if it is visible in the result."""
    low, gaps = ints_of(op.edge_padding_low), ints_of(op.interior_padding)

    def pad(padder: Padder) -> None:
        true_sizes, own, sizes = padder.facts.true_sizes(op.operand), shape_of(op.operand), shape_of(op.result)
        even = padder.facts.target_sizes(op.result)
        dims = range(len(sizes))
        high = [even[d] - own[d] - low[d] - max(0, own[d] - 1) * gaps[d] for d in dims]
        old_high = ints_of(op.edge_padding_high)
        is_visible = any(own[d] != true_sizes[d] and low[d] + true_sizes[d] * (gaps[d] + 1) < sizes[d] for d in dims)
        if is_visible or any(new < old for new, old in zip(high, old_high, strict=True)):
            op.operands[0] = padder.masked(padder.emitter(op), op.operand, op.padding_value, dims)
        if tuple(high) != old_high:
            op.edge_padding_high = ints(high)
        padder.resize(op.result, even)

    return pad


@STATIC_RULES.of(slicing.ConcatenateOp)
def concatenate(op: slicing.ConcatenateOp) -> Rule:
    """Compute without padding if padding would be between the operands."""
    dim = op.dimension.value.data

    def pad(padder: Padder) -> None:
        if padder.facts.dim_axes(op.result)[dim] or any(
            dim in padder.facts.padded_dims(value) for value in op.operands
        ):
            compute_unpadded(op, padder)
        else:
            padder.resize_to_targets(op.results)

    return pad


@RULES.of(slicing.DynamicSliceOp)
def dynamic_slice(op: slicing.DynamicSliceOp) -> Rule:
    """Include the padding of dims that are sliced in full."""

    def pad(padder: Padder) -> None:
        slice_sizes = list(ints_of(op.slice_sizes))
        for dim in padder.facts.padded_dims(op.operand):
            if slice_sizes[dim] != padder.facts.true_sizes(op.operand)[dim]:
                compute_unpadded(op, padder)
                return
            slice_sizes[dim] = shape_of(op.operand)[dim]
        if padder.facts.target_sizes(op.result) != tuple(slice_sizes):
            compute_unpadded(op, padder)
            return
        op.slice_sizes = ints(slice_sizes)
        padder.resize(op.result, tuple(slice_sizes))

    return pad


@RULES.of(slicing.DynamicUpdateSliceOp)
def dynamic_update_slice(op: slicing.DynamicUpdateSliceOp) -> Rule:
    """Compute without padding unless padded dims are replaced in full: clamping depends on their size."""

    def pad(padder: Padder) -> None:
        padded = {*padder.facts.padded_dims(op.operand), *padder.facts.padded_dims(op.update)}
        own, new = ((shape_of(value), padder.facts.true_sizes(value)) for value in (op.operand, op.update))
        if any(own[0][dim] != new[0][dim] or own[1][dim] != new[1][dim] for dim in padded):
            compute_unpadded(op, padder)
        else:
            padder.resize_to_targets(op.results)

    return pad


@RULES.of(gather_scatter.GatherOp)
def gather(op: gather_scatter.GatherOp) -> Rule:
    """Include the padding of dims that are gathered in full; clamp the start indices of other dims."""

    def pad(padder: Padder) -> None:
        padded = padder.facts.padded_dims(op.operand)
        sizes = list(ints_of(op.slice_sizes))
        true_sizes = padder.facts.true_sizes(op.operand)
        numbers = op.dimension_numbers.data
        if numbers.index_vector_dim in padder.facts.padded_dims(op.start_indices):
            compute_unpadded(op, padder)
            return
        limits = [true_sizes[dim] - sizes[dim] for dim in numbers.start_index_map]
        unit_dims = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
        for dim in padded:
            if sizes[dim] == true_sizes[dim] and dim not in unit_dims:
                sizes[dim] = shape_of(op.operand)[dim]
        if padder.facts.target_sizes(op.result) != _gathered_sizes(op, sizes):
            compute_unpadded(op, padder)
            return
        if set(padded).intersection(numbers.start_index_map):
            op.operands[1] = _clamped(padder.emitter(op), op.start_indices, limits, numbers.index_vector_dim, padder)
        op.slice_sizes = ints(sizes)
        padder.resize_to_targets(op.results)

    return pad


def _gathered_sizes(op: gather_scatter.GatherOp, slice_sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the result sizes of a gather with some slice sizes."""
    numbers, indices = op.dimension_numbers.data, shape_of(op.start_indices)
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    offsets = iter(size for dim, size in enumerate(slice_sizes) if dim not in dropped)
    batches = iter(size for dim, size in enumerate(indices) if dim != numbers.index_vector_dim)
    return tuple(next(offsets if dim in numbers.offset_dims else batches) for dim in range(len(shape_of(op.result))))


def _clamped(emit: Emitter, indices: SSAValue, limits: list[int], vector_dim: int, padder: Padder) -> SSAValue:
    """Return the indices clamped to 0 and their limits, as the gather itself would without padding.

    Where the type of the indices cannot represent a limit, every index is below it.
    """
    sharding, element = sharding_of(indices), element_type_of(indices)
    _, largest = index_bounds(element)
    limits = [min(limit, largest) for limit in limits]
    has_vector = vector_dim < len(shape_of(indices))
    limit = emit.constant(TensorType(element, [len(limits)] if has_vector else []), limits)
    largest = annotated(emit.broadcast(limit, tensor_of(indices), [vector_dim] if has_vector else []), sharding)
    zero = emit.constant(TensorType(element, []), [0])
    smallest = annotated(emit.broadcast(zero, tensor_of(indices)), sharding)
    clamped = annotated(emit.clamp(smallest, indices, largest), sharding)
    return padder.facts.record(clamped, padder.facts.true_sizes(indices))
