"""Ties of slices, pads, concatenations, gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import shape as ops
from sdy.dialects.stablehlo.elementwise import ConvertOp
from sdy.dialects.stablehlo.gather_scatter import GatherOp, ScatterOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, DynamicSliceOp, DynamicUpdateSliceOp, PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.evidence.sizes.devices import Table
from sdy.evidence.sizes.size_classes import Variable
from sdy.evidence.sizes.ties import Ties

TABLE = OpTable[None, [Ties]]()


@TABLE.of(SliceOp)
def _slice(op: SliceOp, ties: Ties) -> None:
    operand, result = ties.of(op.operand), ties.of(op.result)
    starts, limits, strides = map(ints_of, (op.start_indices, op.limit_indices, op.strides))
    for dim, (one, other) in enumerate(zip(operand, result, strict=True)):
        start, limit = (ties.attribute(op, name, dim, one, other) for name in ("start_indices", "limit_indices"))
        if limits[dim] == ties.classes.sizes[one]:
            ties.tie(limit, one)
        else:
            ties.classes.order(limit, one)
        if (starts[dim], strides[dim]) == (0, 1):
            ties.tie(limit, other)
        else:
            rest = limits[dim] - starts[dim] - strides[dim] * ties.classes.sizes[other]
            ties.classes.tie_sum(((1, limit), (-1, start), (-strides[dim], other)), rest)
        if isinstance(op.operand.owner, DynamicUpdateSliceOp):
            _tie_margins(ties, ties.of(op.operand.owner.update)[dim], start)
    ties.values.same(op.operand, op.result)


@TABLE.of(PadOp)
def _pad(op: PadOp, ties: Ties) -> None:
    operand, result, interior = ties.of(op.operand), ties.of(op.result), ints_of(op.interior_padding)
    for dim, (one, other) in enumerate(zip(operand, result, strict=True)):
        low, high = (ties.attribute(op, name, dim, one, other) for name in ("edge_padding_low", "edge_padding_high"))
        inside = interior[dim] if ties.classes.sizes[one] else 0
        ties.classes.tie_sum(((1, low), (1, high), (1 + inside, one), (-1, other)), inside)
    ties.values.same(op.operand, op.result, op.padding_value)


@TABLE.of(ConcatenateOp)
def _concatenate(op: ConcatenateOp, ties: Ties) -> None:
    dim, result = op.dimension.value.data, ties.of(op.result)
    ties.same_dims(op.result, *op.inputs, but=(dim,))
    ties.classes.tie_sum(((-1, result[dim]), *((1, ties.of(each)[dim]) for each in op.inputs)), 0)
    ties.values.same(op.result, *op.inputs)


@TABLE.of(DynamicSliceOp)
def _dynamic_slice(op: DynamicSliceOp, ties: Ties) -> None:
    operand, result = ties.of(op.operand), ties.of(op.result)
    for dim, start in enumerate(op.start_indices):
        ties.tie(ties.attribute(op, "slice_sizes", dim), result[dim])
        tie_window(ties, result[dim], operand[dim], start)
    ties.values.same(op.operand, op.result)


@TABLE.of(DynamicUpdateSliceOp)
def _dynamic_update_slice(op: DynamicUpdateSliceOp, ties: Ties) -> None:
    ties.same_dims(op.operand, op.result)
    for window, whole, start in zip(ties.of(op.update), ties.of(op.operand), op.start_indices, strict=True):
        tie_window(ties, window, whole, start)
    pad = op.operand.owner
    if isinstance(pad, PadOp):
        for dim, window in enumerate(ties.of(op.update)):
            names = ("edge_padding_low", "edge_padding_high")
            _tie_margins(ties, window, *(ties.attribute(pad, name, dim) for name in names))
    ties.values.same(op.operand, op.update, op.result)


def _tie_margins(ties: Ties, window: Variable, *margins: Variable) -> None:
    """Tie the margins of a shard that are as long as an update, which may lie in them instead of in the shard."""
    for margin in margins:
        if ties.classes.sizes[margin] == ties.classes.sizes[window]:
            ties.tie(margin, window)


def tie_window(ties: Ties, window: Variable, whole: Variable, start: SSAValue) -> None:
    """Tie the sizes of a window and of the dim in which it starts at `start`, which is a position along both.

    The dim stays the same multiple of the window.
    """
    sizes = ties.classes.sizes
    if sizes[window] == sizes[whole]:
        ties.tie(window, whole)
    elif (table := _table_of(ties, start)) is not None and table.before * sizes[window] == sizes[whole]:
        ties.tie_ratio(window, whole, table.after)
    elif sizes[window] > 1 and sizes[whole] % sizes[window] == 0:
        ties.tie_ratio(window, whole)
    else:
        ties.classes.order(window, whole)
    ties.values.position(start, window, whole)


def _table_of(ties: Ties, start: SSAValue) -> Table | None:
    """Return the table in which a device looks up the start of a window."""
    op = start.owner
    while isinstance(op, ops.ReshapeOp | ConvertOp | DynamicSliceOp):
        op = op.operands[0].owner
    return ties.mesh.tables.get(op) if isinstance(op, Operation) else None


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
