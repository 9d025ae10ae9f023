"""Ties of gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.gather_scatter import GatherOp, ScatterOp
from sdy.evidence.sizes.ops.slicing import tie_window
from sdy.evidence.sizes.size_classes import Variable
from sdy.evidence.sizes.ties import Ties

TABLE = OpTable[None, [Ties]]()


@TABLE.of(GatherOp)
def _gather(op: GatherOp, ties: Ties) -> None:
    numbers = op.dimension_numbers.data
    operand, result = ties.of(op.operand), ties.of(op.result)
    indices = _batch_dims(ties, op.start_indices, numbers.index_vector_dim)
    windows = iter(numbers.offset_dims)
    removed = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    for dim, whole in enumerate(operand):
        size = ties.attribute(op, "slice_sizes", dim)
        if dim not in removed:
            ties.tie(size, result[next(windows)])
        if dim in numbers.start_index_map:
            _tie_indexed(ties, size, whole, op.start_indices)
        elif dim not in removed:
            tie_window(ties, size, whole, op.operand)
    batch = [each for dim, each in enumerate(result) if dim not in numbers.offset_dims]
    for one, other in zip(indices, batch, strict=True):
        ties.tie(one, other)
    _tie_batching(
        ties, op.operand, op.start_indices, numbers.operand_batching_dims, numbers.start_indices_batching_dims
    )
    ties.values.same(op.operand, op.result)


@TABLE.of(ScatterOp)
def _scatter(op: ScatterOp, ties: Ties) -> None:
    numbers = op.scatter_dimension_numbers.data
    indices = _batch_dims(ties, op.scatter_indices, numbers.index_vector_dim)
    removed = (*numbers.inserted_window_dims, *numbers.input_batching_dims)
    ties.same_dims(*op.inputs)
    ties.same_dims(*op.updates)
    for operand, update, result in zip(op.inputs, op.updates, op.result, strict=True):
        ties.same(operand, result)
        ties.values.same(operand, update)
        windows, updates = iter(numbers.update_window_dims), ties.of(update)
        for dim, whole in enumerate(ties.of(operand)):
            is_indexed = dim in numbers.scatter_dims_to_operand_dims
            if dim not in removed:
                tie = _tie_indexed if is_indexed else tie_window
                tie(ties, updates[next(windows)], whole, op.scatter_indices if is_indexed else operand)
            elif is_indexed:
                ties.values.position(op.scatter_indices, whole)
        batch = [each for dim, each in enumerate(updates) if dim not in numbers.update_window_dims]
        for one, other in zip(indices, batch, strict=True):
            ties.tie(one, other)
        _tie_batching(
            ties, operand, op.scatter_indices, numbers.input_batching_dims, numbers.scatter_indices_batching_dims
        )


def _tie_indexed(ties: Ties, window: Variable, whole: Variable, indices: SSAValue) -> None:
    """Tie an indexed dim to the windows in it; windows of several elements may overlap, and keep their sizes."""
    if 1 < ties.classes.sizes[window] < ties.classes.sizes[whole]:
        for each in (window, whole):
            ties.classes.lock(each, "indices are starts of windows of several elements along it")
    tie_window(ties, window, whole, indices)


def _batch_dims(ties: Ties, indices: SSAValue, vector_dim: int) -> list[int]:
    """Return the dims of indices that are not the index vector, whose size stays."""
    dims = ties.of(indices)
    if vector_dim < len(dims):
        ties.lock(indices, "an index vector lies along it", (vector_dim,))
    return [each for dim, each in enumerate(dims) if dim != vector_dim]


def _tie_batching(ties: Ties, operand: SSAValue, indices: SSAValue, dims: Sequence[int], others: Sequence[int]) -> None:
    for dim, other in zip(dims, others, strict=True):
        ties.tie(ties.of(operand)[dim], ties.of(indices)[other])
