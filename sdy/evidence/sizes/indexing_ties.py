"""Ties of gathers and scatters, and of collectives."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import collectives as ops
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.gather_scatter import GatherOp, ScatterOp
from sdy.dialects.stablehlo.random import RngBitGeneratorOp
from sdy.evidence.sizes.movement_ties import tie_window
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


@TABLE.of(ops.AllReduceOp, ops.CollectivePermuteOp, ops.CollectiveBroadcastOp, ops.CrossReplicaSumOp)
def _same(op: Operation, ties: Ties) -> None:
    ties.all_same(op.operands, op.results)


@TABLE.of(ops.AllGatherOp)
def _all_gather(op: ops.AllGatherOp, ties: Ties) -> None:
    _multiples(ties, op, op.all_gather_dim.value.data)


@TABLE.of(ops.ReduceScatterOp)
def _reduce_scatter(op: ops.ReduceScatterOp, ties: Ties) -> None:
    _multiples(ties, op, op.scatter_dimension.value.data)


@TABLE.of(ops.AllToAllOp)
def _all_to_all(op: ops.AllToAllOp, ties: Ties) -> None:
    split, concat = op.split_dimension.value.data, op.concat_dimension.value.data
    _multiples(ties, op, split, concat)
    if split == concat:
        for operand in op.operands:
            parts = ties.classes.new(shape_of(operand)[split] // op.split_count.value.data)
            _, after, positions = ties.mesh.sizes.get(op, (0, None, None))
            ties.tie_ratio(parts, ties.of(operand)[split], after, positions)


def _multiples(ties: Ties, op: Operation, *dims: int) -> None:
    """Tie all dims of operands and results, and along `dims` the multiples: the smaller size is that of a part."""
    _, after, positions = ties.mesh.sizes.get(op, (0, None, None))
    for operand, result in zip(op.operands, op.results, strict=True):
        sizes = shape_of(operand), shape_of(result)
        ties.same_dims(operand, result, but=dims)
        for dim in set(dims):
            ones = ties.of(operand)[dim], ties.of(result)[dim]
            if sizes[0][dim] == sizes[1][dim]:
                ties.tie(*ones)
            elif sizes[0][dim] < sizes[1][dim]:
                ties.tie_ratio(ones[0], ones[1], after, positions)
            else:
                ties.tie_ratio(ones[1], ones[0], after, positions)
        ties.values.same(operand, result)


@TABLE.of(ops.PartitionIdOp, ops.ReplicaIdOp)
def _device_id(op: Operation, ties: Ties) -> None:
    """Tie nothing: the result is the number of a device."""


@TABLE.of(RngBitGeneratorOp)
def _rng_bit_generator(op: RngBitGeneratorOp, ties: Ties) -> None:
    ties.lock(op.initial_state, "the state of a random generator")
    ties.same_dims(op.initial_state, op.output_state)
    ties.of(op.output)
