"""Padding rules of slices and concatenations after reshards, where elements do not move between shards."""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import slicing
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.emit.emitter import ints
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.padder import Padder, Rule

RULES = OpTable[Rule]()


@RULES.of(slicing.SliceOp)
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


@RULES.of(slicing.ConcatenateOp)
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
