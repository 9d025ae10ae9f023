"""Padding rules of slices, pads and concatenations.

before  %1 = slice %0 [1:64] : 63 elements        after  %1 = pad %0, low = [-1], high = [1] : 64 elements
before  %1 = concatenate %0, %b                   after  %1 = select %is_first, (pad %0), (pad %b, low = [63])

Source: docs/spec/06, 8.2 (G46, G47).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo import slicing
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.shape import StaticShape
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.emitter import Emitter, ints
from sdy.partitioner.emit.sharded_emitter import annotated, select_first, sliced, zero_scalar
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.padder import Padder

RULES = OpTable[None, [Padder]]()  # before and after reshards
MOVING_RULES = OpTable[None, [Padder]]()  # before reshards, while elements may move between shards
MAX_CONCATENATED = 4  # operands; each of them needs a halo exchange


@RULES.of(slicing.PadOp)
def pad_(op: slicing.PadOp, padder: Padder) -> None:
    """Pad less by the padding of the operand, which first gets the padding value if it is visible in the result."""
    low, gaps = ints_of(op.edge_padding_low), ints_of(op.interior_padding)
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


@RULES.of(slicing.DynamicSliceOp)
def dynamic_slice(op: slicing.DynamicSliceOp, padder: Padder) -> None:
    """Include the padding of dims that are sliced in full."""
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


@RULES.of(slicing.DynamicUpdateSliceOp)
def dynamic_update_slice(op: slicing.DynamicUpdateSliceOp, padder: Padder) -> None:
    """Compute without padding unless padded dims are replaced in full: clamping depends on their size."""
    padded = {*padder.facts.padded_dims(op.operand), *padder.facts.padded_dims(op.update)}
    own, new = ((shape_of(value), padder.facts.true_sizes(value)) for value in (op.operand, op.update))
    if any(own[0][dim] != new[0][dim] or own[1][dim] != new[1][dim] for dim in padded):
        compute_unpadded(op, padder)
    else:
        padder.resize_to_targets(op.results)


@MOVING_RULES.of(slicing.SliceOp)
def slice_(op: slicing.SliceOp, padder: Padder) -> None:
    """Shift the sliced elements to the front by a pad; the elements after them are padding."""
    starts, limits, strides = (ints_of(each) for each in (op.start_indices, op.limit_indices, op.strides))
    target, sizes = padder.facts.target_sizes(op.result), shape_of(op.result)
    true_sizes = padder.facts.true_sizes(op.operand)
    operand_sizes, sharding, emit = shape_of(op.operand), sharding_of(op.result), padder.emitter(op)
    uneven = {dim for dim, size in enumerate(sizes) if size != target[dim]}
    if any(strides[dim] != 1 for dim in uneven):
        compute_unpadded(op, padder)
        return
    value = _sliced_along_others(emit, op, uneven)
    low = [-starts[dim] if dim in uneven else 0 for dim in range(len(sizes))]
    high = [target[dim] - operand_sizes[dim] - low[dim] if dim in uneven else 0 for dim in range(len(sizes))]
    is_end = all(limits[dim] == true_sizes[dim] for dim in uneven)
    is_zero = is_end and padder.facts.is_zero_padded(op.operand)
    shifted = _shifted(emit, value, low, high, sharding)
    padder.replace(op, padder.facts.record(shifted, sizes, is_zero=is_zero))


def _sliced_along_others(emit: Emitter, op: slicing.SliceOp, uneven: set[int]) -> SSAValue:
    """Return the operand, sliced along all dims except the uneven ones."""
    operand_sizes = shape_of(op.operand)
    ranges = zip(*(ints_of(each) for each in (op.start_indices, op.limit_indices, op.strides)), strict=True)
    chosen = [(0, operand_sizes[dim], 1) if dim in uneven else own for dim, own in enumerate(ranges)]
    starts, limits, strides = (list(each) for each in zip(*chosen, strict=True))
    if not any(starts) and tuple(limits) == operand_sizes and set(strides) == {1}:
        return op.operand
    return sliced(emit, op.operand, starts, limits, sharding_of(op.result), strides)


def _shifted(
    emit: Emitter, value: SSAValue, low: Sequence[int], high: Sequence[int], sharding: TensorSharding | None
) -> SSAValue:
    """Return a new value: `value` with zeros added, or elements removed, at both ends of each dim."""
    if any((*low, *high)) or sharding is None:
        return annotated(emit.pad(value, zero_scalar(emit, value), low, high), sharding)
    return emit.add(ReshardOp(value, sharding))


@MOVING_RULES.of(slicing.ConcatenateOp)
def concatenate(op: slicing.ConcatenateOp, padder: Padder) -> None:
    """Shift each operand to its offset in the result, and select the elements of each operand by masks."""
    dim = op.dimension.value.data
    target, sizes = padder.facts.target_sizes(op.result), shape_of(op.result)
    if target[dim] == sizes[dim] and not any(dim in padder.facts.padded_dims(value) for value in op.inputs):
        padder.resize_to_targets(op.results)
        return
    if len(op.inputs) > MAX_CONCATENATED:
        compute_unpadded(op, padder)
        return
    padder.replace(op, padder.facts.record(_concatenated(op, dim, target, padder), sizes))


def _concatenated(op: slicing.ConcatenateOp, dim: int, target: StaticShape, padder: Padder) -> SSAValue:
    emit, sharding = padder.emitter(op), sharding_of(op.result)
    result: SSAValue | None = None
    offset = 0
    for operand in op.inputs:
        is_in_place = offset == 0 and shape_of(operand)[dim] == target[dim]
        source, start = (operand, 0) if is_in_place else _source_along(operand, dim, padder)
        low, high = [0] * len(target), [0] * len(target)
        low[dim] = offset - start
        high[dim] = target[dim] - shape_of(source)[dim] - low[dim]
        shifted = _shifted(emit, source, low, high, sharding)
        result = shifted if result is None else select_first(emit, result, shifted, dim, offset)
        offset += padder.facts.true_sizes(operand)[dim]
    assert result is not None  # verified: there is an operand
    return result


def _source_along(value: SSAValue, dim: int, padder: Padder) -> tuple[SSAValue, int]:
    """Return the operand and the start of a slice along `dim` only; for other values, the value and 0.

    A slice may have become a pad that removes the elements before its start.
    """
    op = value.owner
    others = [each for each in range(len(shape_of(value))) if each != dim]
    if isinstance(op, slicing.SliceOp):
        starts, sizes, operand_sizes = ints_of(op.start_indices), shape_of(value), shape_of(op.operand)
        is_along = ints_of(op.strides)[dim] == 1 and all(sizes[each] == operand_sizes[each] for each in others)
        return (op.operand, starts[dim]) if is_along else (value, 0)
    if isinstance(op, slicing.PadOp) and not any(ints_of(op.interior_padding)):
        low, high = ints_of(op.edge_padding_low), ints_of(op.edge_padding_high)
        end = padder.facts.true_sizes(value)[dim] - low[dim]
        is_along = low[dim] <= 0 and not any(low[each] or high[each] for each in others)
        if is_along and end <= padder.facts.true_sizes(op.operand)[dim]:
            return op.operand, -low[dim]
    return value, 0
