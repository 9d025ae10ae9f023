"""Ops that read or write slices at indices which another tensor holds, and their checks."""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, i1, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure, RecursiveMemoryEffect

from sdy.dialects.facts.traits import LinearIn, Linearity, MovesElements, RegionOnElements
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.attrs import (
    DimNumbers,
    GatherDimensionNumbers,
    GatherDimensionNumbersAttr,
    ScatterDimensionNumbersAttr,
)
from sdy.dialects.stablehlo.attributes.types import DimSizes
from sdy.dialects.stablehlo.base import OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.regions import require_reducer_region
from sdy.dialects.stablehlo.checks.requirements import (
    check_indices,
    check_scatter_indices,
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
    """Check that the result has one slice of the operand per index vector."""
    numbers, dropped = _gather_dims(op)
    operand, indices = shape(op, op.operands[0]), shape(op, op.operands[1])
    sizes = require_length(op, "slice_sizes", len(operand), "the operand")
    for dim, (size, slice_size) in enumerate(zip(operand, sizes, strict=True)):
        if slice_size < 0 or (slice_size > size and size != DYNAMIC_INDEX):
            message = f"slice size of dim {dim} must be from 0 to {size}, the size of the operand, got {slice_size}"
            fail(op, "SDY-D016", message)
        if dim in dropped and slice_size > 1:
            message = f"slice size of dim {dim}, a collapsed or batching dim, must be at most 1, got {slice_size}"
            fail(op, "SDY-D016", message)
    window = [size for dim, size in enumerate(sizes) if dim not in dropped]
    batch = _batch_sizes(indices, numbers.index_vector_dim)
    expected = _interleaved(op, "offset_dims", numbers.offset_dims, window, batch)
    require_shape(op, op.results[0], expected, "inferred from slice_sizes and start_indices")
    empty = next((dim for dim in dropped if sizes[dim] == 0), None)
    if empty is not None and 0 not in shape(op, op.results[0]):
        message = f"slice size of dim {empty}, a collapsed or batching dim, must be 1 as the result has elements, got 0"
        fail(op, "SDY-D016", message)


def check_dynamic_gather(op: Operation) -> None:
    """Check a gather whose slice sizes are known only at run time."""
    numbers, dropped = _gather_dims(op)
    operand, indices = shape(op, op.operands[0]), shape(op, op.operands[1])
    require_shape(op, op.operands[2], (len(operand),), "one slice size per dim of the operand")
    window = [DYNAMIC_INDEX] * (len(operand) - len(dropped))
    batch = _batch_sizes(indices, numbers.index_vector_dim)
    expected = _interleaved(op, "offset_dims", numbers.offset_dims, window, batch)
    require_shape(op, op.results[0], expected, "inferred from start_indices")


def check_scatter(op: Operation) -> None:
    """Check that there is one update per index vector, and that results have the types of the inputs."""
    numbers = cast(ScatterDimensionNumbersAttr, op.properties["scatter_dimension_numbers"]).data
    count = len(op.operands) // 2
    inputs, indices_value, updates = op.operands[:count], op.operands[count], op.operands[count + 1 :]
    if not count or len(op.results) != count:
        fail(op, "SDY-D001", f"expected one result per input, and at least one, got {len(op.results)} and {count}")
    require_same_shape(op, inputs)
    require_same_shape(op, updates)
    for value, update, result in zip(inputs, updates, op.results, strict=True):
        require_same_type(op, (value, result))
        require_same_element_type(op, (value, update))
    operand, indices, update = shape(op, inputs[0]), shape(op, indices_value), shape(op, updates[0])
    dropped = numbers.inserted_window_dims + numbers.input_batching_dims
    require_dims(op, "inserted_window_dims and input_batching_dims", dropped, len(operand), "the input")
    _require_index_map(op, numbers.scatter_dims_to_operand_dims, len(operand), indices, numbers.index_vector_dim)
    indexed = numbers.input_batching_dims + numbers.scatter_dims_to_operand_dims
    require_dims(op, "input_batching_dims and scatter_dims_to_operand_dims", indexed, len(operand), "the input")
    batching = _batching_pairs(op, numbers.input_batching_dims, numbers.scatter_indices_batching_dims)
    _require_batching(op, batching, operand, indices, numbers.index_vector_dim)
    window = [size for dim, size in enumerate(operand) if dim not in dropped]
    batch = _batch_sizes(indices, numbers.index_vector_dim)
    largest = _interleaved(op, "update_window_dims", numbers.update_window_dims, window, batch)
    _require_fits(op, updates[0], update, largest, numbers.update_window_dims)
    require_reducer_region(op, op.regions[0], inputs)


def _gather_dims(op: Operation) -> tuple[GatherDimensionNumbers, DimNumbers]:
    """Return the dim numbers, and the dims of the operand that the result does not have."""
    numbers = cast(GatherDimensionNumbersAttr, op.properties["dimension_numbers"]).data
    require_same_element_type(op, (op.operands[0], op.results[0]))
    operand, indices = shape(op, op.operands[0]), shape(op, op.operands[1])
    dropped = numbers.collapsed_slice_dims + numbers.operand_batching_dims
    require_dims(op, "collapsed_slice_dims and operand_batching_dims", dropped, len(operand), "the operand")
    _require_index_map(op, numbers.start_index_map, len(operand), indices, numbers.index_vector_dim)
    indexed = numbers.operand_batching_dims + numbers.start_index_map
    require_dims(op, "operand_batching_dims and start_index_map", indexed, len(operand), "the operand")
    batching = _batching_pairs(op, numbers.operand_batching_dims, numbers.start_indices_batching_dims)
    _require_batching(op, batching, operand, indices, numbers.index_vector_dim)
    return numbers, dropped


def _batching_pairs(op: Operation, dims: DimNumbers, index_dims: DimNumbers) -> list[tuple[int, int]]:
    """Return pairs of a batching dim of the operand and one of the indices; raise an error if one has no partner."""
    if len(dims) != len(index_dims):
        message = f"expected as many batching dims of the indices as of the operand, {len(dims)}, got {len(index_dims)}"
        fail(op, "SDY-D014", message)
    return list(zip(dims, index_dims, strict=True))


def _require_batching(
    op: Operation, pairs: list[tuple[int, int]], operand: DimSizes, indices: DimSizes, vector_dim: int
) -> None:
    """Raise an error unless each pair of batching dims has one size, and the index vectors are along another dim."""
    index_dims = [dim for _, dim in pairs]
    require_dims(op, "the batching dims of the indices", index_dims, len(indices), "the tensor of indices")
    if vector_dim in index_dims:
        fail(op, "SDY-D015", f"the batching dims of the indices must not include index_vector_dim, {vector_dim}")
    for dim, index_dim in pairs:
        sizes = operand[dim], indices[index_dim]
        if sizes[0] != sizes[1] and DYNAMIC_INDEX not in sizes:
            message = f"dim {dim} of the operand and dim {index_dim} of the indices must have one size, got {sizes}"
            fail(op, "SDY-D012", message)


def _require_fits(op: Operation, value: SSAValue, update: DimSizes, largest: DimSizes, window_dims: DimNumbers) -> None:
    """Raise an error unless the update has the batch dims of the indices and window dims no larger than the input's."""
    if len(update) == len(largest):
        for dim in window_dims:
            if update[dim] > largest[dim] and DYNAMIC_INDEX not in (update[dim], largest[dim]):
                message = f"size of dim {dim} of the updates must be at most {largest[dim]}, got {update[dim]}"
                fail(op, "SDY-D016", message)
        largest = tuple(update[dim] if dim in window_dims else size for dim, size in enumerate(largest))
    require_shape(op, value, largest, "inferred from the input and scatter_indices")


def _require_index_map(op: Operation, index_map: DimNumbers, rank: int, indices: DimSizes, vector_dim: int) -> None:
    if not 0 <= vector_dim <= len(indices):
        message = f"index_vector_dim must be from 0 to {len(indices)}, the rank of the indices, got {vector_dim}"
        fail(op, "SDY-D015", message)
    length = indices[vector_dim] if vector_dim < len(indices) else 1
    if len(index_map) != length and length != DYNAMIC_INDEX:
        message = (
            f"the index map must have one entry per element of an index vector: expected {length}, got {len(index_map)}"
        )
        fail(op, "SDY-D014", message)
    require_dims(op, "the index map", index_map, rank, "the operand")


def _batch_sizes(indices: DimSizes, vector_dim: int) -> list[int]:
    """Return the sizes of all dims of the indices except the index vector dim."""
    return [size for dim, size in enumerate(indices) if dim != vector_dim]


def _interleaved(op: Operation, name: str, window_dims: DimNumbers, window: list[int], batch: list[int]) -> DimSizes:
    """Return the shape with the window sizes at `window_dims`, and the batch sizes at the other dims in order."""
    rank = len(window) + len(batch)
    if len(window_dims) != len(window):
        message = f"{name} must have one entry per dim kept in a slice: expected {len(window)}, got {len(window_dims)}"
        fail(op, "SDY-D014", message)
    require_dims(op, name, window_dims, rank, "the result of the gather or the updates")
    sizes, others = dict(zip(window_dims, window, strict=True)), iter(batch)
    return tuple(sizes[dim] if dim in sizes else next(others) for dim in range(rank))


FALSE = IntegerAttr(0, i1)


@irdl_op_definition
class GatherOp(StablehloOp):
    """Gather slices of the operand that start at `start_indices`; starts are clamped so that slices are in bounds."""

    name = "stablehlo.gather"
    operand = operand_def()
    start_indices = operand_def()
    dimension_numbers = prop_def(GatherDimensionNumbersAttr)
    slice_sizes = prop_def(DenseArrayBase.constr(i64))
    indices_are_sorted = opt_prop_def(IntegerAttr.constr(i1), default_value=FALSE)
    result = result_def()
    traits = traits_def(Pure(), MovesElements(is_selection=True), LinearIn(Linearity.FIRST))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_gather, check_indices(1))


@irdl_op_definition
class DynamicGatherOp(StablehloOp):
    """A `gather` whose slice sizes are an operand."""

    name = "stablehlo.dynamic_gather"
    operand = operand_def()
    start_indices = operand_def()
    slice_sizes = operand_def()
    dimension_numbers = prop_def(GatherDimensionNumbersAttr)
    indices_are_sorted = opt_prop_def(IntegerAttr.constr(i1), default_value=FALSE)
    result = result_def()
    traits = traits_def(Pure(), MovesElements(is_selection=True))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_dynamic_gather, check_indices(1))


@irdl_op_definition
class ScatterOp(StablehloOp):
    """Combine slices of `updates` into the inputs at `scatter_indices` with a region."""

    name = "stablehlo.scatter"
    inputs = var_operand_def()
    scatter_indices = operand_def()
    updates = var_operand_def()
    scatter_dimension_numbers = prop_def(ScatterDimensionNumbersAttr)
    indices_are_sorted = opt_prop_def(IntegerAttr.constr(i1), default_value=FALSE)
    unique_indices = opt_prop_def(IntegerAttr.constr(i1), default_value=FALSE)
    result = var_result_def()
    update_computation = region_def("single_block")
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect(), RegionOnElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_scatter, check_scatter_indices)


@irdl_op_definition
class TorchIndexSelectOp(StablehloOp):
    """Select the slices along `dim` at `index`, for each index of the batch dims."""

    name = "stablehlo.torch_index_select"
    operand = operand_def()
    index = operand_def()
    dim = prop_def(IntegerAttr.constr(i64))
    batch_dims = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure(), MovesElements(is_selection=True))


OPS = declared_ops(__name__)
