"""Padding rules of pooling and its gradient: windows of one element leave padding where it is."""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import window
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.partitioner.on_shards.windows import at
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.padder import Padder

RULES = OpTable[None, [Padder]]()


@RULES.of(window.ReduceWindowOp, window.SelectAndScatterOp)
def windows(op: window.PoolingOp, padder: Padder) -> None:
    """Keep the padding of dims along which windows have size 1; compute without padding otherwise."""
    padded = {dim for operand in op.operands for dim in padder.facts.padded_dims(operand)}
    is_windowed = any(at(op.window_dimensions, dim) != 1 or at(op.window_strides, dim) != 1 for dim in padded)
    if is_windowed or not _pads_equally(op, padder):
        compute_unpadded(op, padder)
    else:
        padder.resize_to_targets(op.results)


def _pads_equally(op: window.PoolingOp, padder: Padder) -> bool:
    """Return whether all tensors have the same true and target sizes along each dim with padding in any of them."""
    ranked = [value for value in (*op.operands, *op.results) if shape_of(value)]
    targets = [padder.facts.target_sizes(value) for value in ranked]
    uneven = [
        {dim for dim, size in enumerate(sizes) if size != padder.facts.true_sizes(value)[dim]}
        for value, sizes in zip(ranked, targets, strict=True)
    ]
    sizes = [
        (*zip(padder.facts.true_sizes(value), own, strict=True),) for value, own in zip(ranked, targets, strict=True)
    ]
    return all(len({own[dim] for own in sizes}) == 1 for dim in set[int]().union(*uneven))
