"""Padding rules of gathers and scatters. Source: docs/spec/06, 2.6 and 8.2 (G41, G50)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo import gather_scatter
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.emit.emitter import Emitter, ints, tensor_of
from sdy.partitioner.emit.sharded_emitter import annotated
from sdy.partitioner.on_shards.combiners import index_bounds
from sdy.partitioner.on_shards.shard_windows import window_dim_of_update
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.padder import Padder

RULES = OpTable[None, [Padder]]()


@RULES.of(gather_scatter.GatherOp)
def gather(op: gather_scatter.GatherOp, padder: Padder) -> None:
    """Include the padding of dims that are gathered in full; clamp the start indices of other dims."""
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


@RULES.of(gather_scatter.ScatterOp)
def scatter(op: gather_scatter.ScatterOp, padder: Padder) -> None:
    """Give padded updates indices that are out of bounds."""
    numbers = op.scatter_dimension_numbers.data
    windowed = {*numbers.scatter_dims_to_operand_dims} - {*numbers.inserted_window_dims}
    indices = op.scatter_indices
    # A window that ends in the padding would be written partly, instead of not at all.
    ends_in_padding = any(windowed.intersection(padder.facts.padded_dims(value)) for value in op.inputs)
    has_padded_vectors = numbers.index_vector_dim in padder.facts.padded_dims(indices)
    grows = any(
        shape_of(value) != padder.facts.target_sizes(new) for value, new in zip(op.inputs, op.results, strict=True)
    )
    if ends_in_padding or has_padded_vectors or grows or _writes_padding(op, padder):
        compute_unpadded(op, padder)
        return
    dims = [dim for dim in range(len(shape_of(indices))) if dim != numbers.index_vector_dim]
    if set(dims).intersection(padder.facts.padded_dims(indices)):
        op.operands[len(op.inputs)] = _out_of_bounds_in_padding(op, padder, dims)
    padder.resize_to_targets(op.results)


def _out_of_bounds_in_padding(op: gather_scatter.ScatterOp, padder: Padder, dims: Sequence[int]) -> SSAValue:
    """Return the indices with one in the padding of `dims` for which no element of a window is in bounds.

    Without such an index in their type, they are converted to i64.
    """
    emit, indices = padder.emitter(op), op.scatter_indices
    largest_dim = max(shape_of(op.inputs[0]), default=0)  # no window is larger
    least, largest = index_bounds(element_type_of(indices))
    if least > -largest_dim and largest < largest_dim:
        converted = annotated(emit.convert(indices, i64), sharding_of(indices))
        indices = padder.facts.record(converted, padder.facts.true_sizes(indices))
        least, _ = index_bounds(i64)
    return padder.masked_with(emit, indices, least if least <= -largest_dim else largest, dims)


def _writes_padding(op: gather_scatter.ScatterOp, padder: Padder) -> bool:
    """Return whether some window of the updates has other padding than the input."""
    for dim, size in enumerate(shape_of(op.inputs[0])):
        window = window_dim_of_update(op, dim)
        for value, update in zip(op.inputs, op.updates, strict=True):
            if window is not None and window in padder.facts.padded_dims(update):
                sizes = padder.facts.true_sizes(value)[dim], padder.facts.true_sizes(update)[window]
                if shape_of(update)[window] != size or sizes[0] != sizes[1]:
                    return True
    return False
