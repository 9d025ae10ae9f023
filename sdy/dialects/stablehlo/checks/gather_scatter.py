"""Types of ops that read or write at places which other tensors name."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from sdy.dialects.stablehlo.attributes.attrs import (
    DimNumbers,
    GatherDimensionNumbers,
    GatherDimensionNumbersAttr,
    ScatterDimensionNumbersAttr,
)
from sdy.dialects.stablehlo.attributes.types import Shape
from sdy.dialects.stablehlo.checks.reduction import require_reducer_region
from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    require_dims,
    require_length,
    require_same_element_type,
    require_same_shape,
    require_same_type,
    require_shape,
    shape,
)


def check_gather(op: Operation) -> None:
    """`gather`: the result has a slice of the operand per index vector."""
    numbers, dropped = _gather_dims(op)
    operand, indices = shape(op, op.operands[0]), shape(op, op.operands[1])
    sizes = require_length(op, "slice_sizes", len(operand), "the operand")
    for dim, (size, cut) in enumerate(zip(operand, sizes, strict=True)):
        if cut < 0 or (cut > size and size != DYNAMIC_INDEX):
            fail(op, "SDY-D016", f"dim {dim} of the operand has size {size}, the slice size {cut}")
        if dim in dropped and cut > 1:
            fail(op, "SDY-D016", f"dim {dim} is collapsed or a batching dim, its slice size is {cut}, not 1")
    window = [size for dim, size in enumerate(sizes) if dim not in dropped]
    wanted = _interleaved(op, "offset_dims", numbers.offset_dims, window, _batch(indices, numbers.index_vector_dim))
    require_shape(op, op.results[0], wanted, "slice_sizes and start_indices give it")


def check_dynamic_gather(op: Operation) -> None:
    """`dynamic_gather`: like `gather`, with slice sizes that nobody knows yet."""
    numbers, dropped = _gather_dims(op)
    operand, indices = shape(op, op.operands[0]), shape(op, op.operands[1])
    require_shape(op, op.operands[2], (len(operand),), "the operand has as many dims")
    window = [DYNAMIC_INDEX] * (len(operand) - len(dropped))
    wanted = _interleaved(op, "offset_dims", numbers.offset_dims, window, _batch(indices, numbers.index_vector_dim))
    require_shape(op, op.results[0], wanted, "start_indices give it")


def check_scatter(op: Operation) -> None:
    """`scatter`: an update per index vector, each no larger than the input; results are like the inputs."""
    numbers = cast(ScatterDimensionNumbersAttr, op.properties["scatter_dimension_numbers"]).data
    count = len(op.operands) // 2
    inputs, indices_value, updates = op.operands[:count], op.operands[count], op.operands[count + 1 :]
    if not count or len(op.results) != count:
        fail(op, "SDY-D001", f"{len(op.results)} results for {count} inputs")
    require_same_shape(op, inputs)
    require_same_shape(op, updates)
    for one, update, result in zip(inputs, updates, op.results, strict=True):
        require_same_type(op, (one, result))
        require_same_element_type(op, (one, update))
    operand, indices, update = shape(op, inputs[0]), shape(op, indices_value), shape(op, updates[0])
    dropped = numbers.inserted_window_dims + numbers.input_batching_dims
    require_dims(op, "inserted_window_dims and input_batching_dims", dropped, len(operand), "the input")
    _require_index_map(op, numbers.scatter_dims_to_operand_dims, len(operand), indices, numbers.index_vector_dim)
    window = [size for dim, size in enumerate(operand) if dim not in dropped]
    batch = _batch(indices, numbers.index_vector_dim)
    largest = _interleaved(op, "update_window_dims", numbers.update_window_dims, window, batch)
    _require_fits(op, updates[0], update, largest, numbers.update_window_dims)
    require_reducer_region(op, op.regions[0], inputs)


def _gather_dims(op: Operation) -> tuple[GatherDimensionNumbers, DimNumbers]:
    """The dim numbers, and the dims of the operand that the result does not have."""
    numbers = cast(GatherDimensionNumbersAttr, op.properties["dimension_numbers"]).data
    require_same_element_type(op, (op.operands[0], op.results[0]))
    operand, indices = shape(op, op.operands[0]), shape(op, op.operands[1])
    dropped = numbers.collapsed_slice_dims + numbers.operand_batching_dims
    require_dims(op, "collapsed_slice_dims and operand_batching_dims", dropped, len(operand), "the operand")
    _require_index_map(op, numbers.start_index_map, len(operand), indices, numbers.index_vector_dim)
    return numbers, dropped


def _require_fits(op: Operation, value: SSAValue, update: Shape, largest: Shape, window_dims: DimNumbers) -> None:
    """The update has the batch dims of the indices, and window dims no larger than the input's."""
    if len(update) == len(largest):
        for dim in window_dims:
            if update[dim] > largest[dim] and DYNAMIC_INDEX not in (update[dim], largest[dim]):
                message = f"dim {dim} of the updates has size {update[dim]}, the input has only {largest[dim]} there"
                fail(op, "SDY-D016", message)
        largest = tuple(update[dim] if dim in window_dims else size for dim, size in enumerate(largest))
    require_shape(op, value, largest, "input and scatter_indices give it")


def _require_index_map(op: Operation, index_map: DimNumbers, rank: int, indices: Shape, vector_dim: int) -> None:
    if not 0 <= vector_dim <= len(indices):
        fail(op, "SDY-D015", f"index_vector_dim is {vector_dim}, the indices have {len(indices)} dims")
    length = indices[vector_dim] if vector_dim < len(indices) else 1
    if len(index_map) != length and length != DYNAMIC_INDEX:
        fail(op, "SDY-D014", f"an index vector has {length} numbers, the index map {len(index_map)}")
    require_dims(op, "the index map", index_map, rank, "the operand")


def _batch(indices: Shape, vector_dim: int) -> list[int]:
    """The dims of the indices that count index vectors."""
    return [size for dim, size in enumerate(indices) if dim != vector_dim]


def _interleaved(op: Operation, name: str, window_dims: DimNumbers, window: list[int], batch: list[int]) -> Shape:
    """The shape with the window sizes at `window_dims`, and the batch sizes at the other dims in order."""
    rank = len(window) + len(batch)
    if len(window_dims) != len(window):
        fail(op, "SDY-D014", f"{name} has {len(window_dims)} numbers, a slice keeps {len(window)} dims")
    require_dims(op, name, window_dims, rank, "the tensor of slices")
    sizes, others = dict(zip(window_dims, window, strict=True)), iter(batch)
    return tuple(sizes[dim] if dim in sizes else next(others) for dim in range(rank))
