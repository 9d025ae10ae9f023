"""Padding of slices, pads and joins whose elements may still move between shards.

before  %1 = slice %0 [1:64] : 63 elements        after  %1 = pad %0, low = [-1], high = [1] : 64 elements
before  %1 = concatenate %0, %b                   after  %1 = select %is_first, (pad %0), (pad %b, low = [63])
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.attrs import TensorShardingAttr
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo import slicing
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.emitter import Emitter
from sdy.partitioner.emit.sharded_emitter import annotated, first_elements_mask, sliced, zero_scalar
from sdy.partitioner.padding.padder import Padder, Rule, Sizes
from sdy.partitioner.padding.slicing import pad_

RULES = OpTable[Rule]()
MOST_JOINED = 4  # operands; each takes an exchange of its own

RULES.of(slicing.PadOp)(pad_)


@RULES.of(slicing.SliceOp)
def slice_(op: slicing.SliceOp) -> Rule:
    """Move the elements that are wanted to the front, and leave behind them what comes."""
    starts, limits, strides = (ints_of(each) for each in (op.start_indices, op.limit_indices, op.strides))

    def pad(padder: Padder) -> None:
        wanted, sizes, true_sizes = padder.wanted(op.result), shape_of(op.result), padder.true_sizes(op.operand)
        given, sharding, emit = shape_of(op.operand), sharding_of(op.result), padder.emitter(op)
        uneven = {dim for dim, size in enumerate(given) if size != true_sizes[dim] or wanted[dim] != sizes[dim]}
        if any(strides[dim] != 1 for dim in uneven):
            padder.compute_whole(op)
            return
        value = _sliced_along_others(emit, op, uneven)
        low = [-starts[dim] if dim in uneven else 0 for dim in range(len(sizes))]
        high = [wanted[dim] - given[dim] - low[dim] if dim in uneven else 0 for dim in range(len(sizes))]
        is_end = all(limits[dim] == true_sizes[dim] for dim in uneven)
        is_zero = is_end and padder.is_zero_padded(op.operand)
        moved = _moved(emit, value, low, high, sharding)
        padder.replace(op, padder.note(moved, sizes, is_zero=is_zero))

    return pad


def _sliced_along_others(emit: Emitter, op: slicing.SliceOp, uneven: set[int]) -> SSAValue:
    """The operand, sliced along all dims but the uneven ones."""
    given = shape_of(op.operand)
    ranges = zip(*(ints_of(each) for each in (op.start_indices, op.limit_indices, op.strides)), strict=True)
    chosen = [(0, given[dim], 1) if dim in uneven else own for dim, own in enumerate(ranges)]
    starts, limits, strides = (list(each) for each in zip(*chosen, strict=True))
    if not any(starts) and tuple(limits) == given and set(strides) == {1}:
        return op.operand
    return sliced(emit, op.operand, starts, limits, sharding_of(op.result), strides)


def _moved(
    emit: Emitter, value: SSAValue, low: Sequence[int], high: Sequence[int], sharding: TensorSharding | None
) -> SSAValue:
    """`value` with zeros around it, or with elements cut off: in any case another value."""
    if any((*low, *high)) or sharding is None:
        return annotated(emit.pad(value, zero_scalar(emit, value), low, high), sharding)
    return emit.value(ReshardOp, [value], value.type, {"sharding": TensorShardingAttr(sharding)})


@RULES.of(slicing.ConcatenateOp)
def concatenate(op: slicing.ConcatenateOp) -> Rule:
    """Bring each operand to its place in the result, and take of each what is its own."""
    dim = op.dimension.value.data

    def pad(padder: Padder) -> None:
        wanted, sizes = padder.wanted(op.result), shape_of(op.result)
        if wanted[dim] == sizes[dim] and not any(dim in padder.padded_dims(value) for value in op.inputs):
            padder.make_even(op.results)
            return
        if len(op.inputs) > MOST_JOINED:
            padder.compute_whole(op)
            return
        padder.replace(op, padder.note(_joined(op, dim, wanted, padder), sizes))

    return pad


def _joined(op: slicing.ConcatenateOp, dim: int, wanted: Sizes, padder: Padder) -> SSAValue:
    emit, sharding = padder.emitter(op), sharding_of(op.result)
    joined: SSAValue | None = None
    offset = 0
    for operand in op.inputs:
        source, start = _source_along(operand, dim)
        low, high = [0] * len(wanted), [0] * len(wanted)
        low[dim] = offset - start
        high[dim] = wanted[dim] - shape_of(source)[dim] - low[dim]
        piece = _moved(emit, source, low, high, sharding)
        joined = piece if joined is None else _first(emit, joined, piece, dim, offset)
        offset += padder.true_sizes(operand)[dim]
    assert joined is not None  # verified: there is an operand
    return joined


def _source_along(value: SSAValue, dim: int) -> tuple[SSAValue, int]:
    """What a value is a slice of, along `dim` alone, and where it begins; else the value itself."""
    op = value.owner
    if not isinstance(op, slicing.SliceOp):
        return value, 0
    starts, sizes, given = ints_of(op.start_indices), shape_of(value), shape_of(op.operand)
    others = [each for each in range(len(sizes)) if each != dim]
    is_along = ints_of(op.strides)[dim] == 1 and all(sizes[each] == given[each] for each in others)
    return (op.operand, starts[dim]) if is_along else (value, 0)


def _first(emit: Emitter, one: SSAValue, other: SSAValue, dim: int, count: int) -> SSAValue:
    """The first `count` elements of one value along `dim`, and those of another behind them."""
    sharding = sharding_of(other)
    return annotated(emit.select(first_elements_mask(emit, other, dim, count, sharding), one, other), sharding)
