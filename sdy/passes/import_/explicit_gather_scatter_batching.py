"""Turn a batch dim that a gather or scatter expresses by indices into an explicit batching dim.

    before  %i = iota dim = 0 : 4x1    %c = concatenate %i, %k, dim = 1
            gather(%a, %c)  collapsed_slice_dims = [0], start_index_map = [0, 1]
    after   gather(%a, %k)  operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1]

The remaining indices are positions within a batch, so the batch dim can be sharded. Equal constants are merged and dead
ops are erased, as in Shardy. Source: docs/spec/04, 2.5.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.attrs import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr
from sdy.dialects.stablehlo.gather_scatter import FALSE, GatherOp, ScatterOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, SliceOp
from sdy.passes.import_.position_index import position_dim
from sdy.passes.rewriting.dead_code import erase_dead_ops
from sdy.passes.rewriting.insertion import insert_before
from sdy.passes.rewriting.unique_constants import unique_constants

DimIndices = tuple[int, ...]
BATCH = (0,)


class ExplicitGatherScatterBatchingPass(ModulePass):
    """Make dim 0 an explicit batching dim if one component of the indices is the position along it."""

    name = "sdy-explicit-gather-scatter-batching"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the gathers and scatters of each function."""
        for func in op.ops:
            if isinstance(func, FuncOp):
                unique_constants(pre_order(func))
                for inner in pre_order(func):
                    if isinstance(inner, GatherOp):
                        _rewrite_gather(inner)
                    elif isinstance(inner, ScatterOp):
                        _rewrite_scatter(inner)
                erase_dead_ops(pre_order(func))


def _rewrite_gather(op: GatherOp) -> None:
    numbers = op.dimension_numbers.data
    component = batch_component(
        op.operand, op.start_indices, numbers.start_index_map, numbers.collapsed_slice_dims, numbers.index_vector_dim
    )
    if component is None or numbers.operand_batching_dims:
        return
    explicit = numbers._replace(
        collapsed_slice_dims=_without_batch(numbers.collapsed_slice_dims),
        operand_batching_dims=BATCH,
        start_indices_batching_dims=BATCH,
        start_index_map=_without_batch(numbers.start_index_map),
    )
    op.operands[1] = _without_component(op, op.start_indices, component, numbers.index_vector_dim)
    op.dimension_numbers = GatherDimensionNumbersAttr(explicit)
    op.indices_are_sorted = FALSE  # sorted indices need not be sorted without the leading batch component


def _rewrite_scatter(op: ScatterOp) -> None:
    numbers = op.scatter_dimension_numbers.data
    component = batch_component(
        op.inputs[0],
        op.scatter_indices,
        numbers.scatter_dims_to_operand_dims,
        numbers.inserted_window_dims,
        numbers.index_vector_dim,
    )
    if component is None or numbers.input_batching_dims:
        return
    explicit = numbers._replace(
        inserted_window_dims=_without_batch(numbers.inserted_window_dims),
        input_batching_dims=BATCH,
        scatter_indices_batching_dims=BATCH,
        scatter_dims_to_operand_dims=_without_batch(numbers.scatter_dims_to_operand_dims),
    )
    op.operands[len(op.inputs)] = _without_component(op, op.scatter_indices, component, numbers.index_vector_dim)
    op.scatter_dimension_numbers = ScatterDimensionNumbersAttr(explicit)
    op.indices_are_sorted = FALSE
    op.unique_indices = op.unique_indices or FALSE


def batch_component(
    operand: SSAValue, indices: SSAValue, index_map: DimIndices, dropped: DimIndices, vector_dim: int
) -> int | None:
    """Return the component of the indices that is the position along dim 0 of operand and indices; None if there is
    none.

    `index_map` has the operand dim of each component, `dropped` the operand dims that slices do not have; `vector_dim`
    is the dim of the indices that holds the components.
    """
    shape, indices_shape = static_shape(operand.type), static_shape(indices.type)
    if not shape or not indices_shape or not 0 < vector_dim < len(indices_shape) or indices_shape[vector_dim] < 2:
        return None
    if shape[0] != indices_shape[0] or 0 not in index_map or 0 not in dropped:
        return None
    component = index_map.index(0)
    values = _component(indices, component, vector_dim)
    return component if values is not None and position_dim(values) == 0 else None


def _component(indices: SSAValue, component: int, vector_dim: int) -> SSAValue | None:
    """Return the concatenated input that has the component; the indices themselves without a concatenation."""
    op = indices.owner
    if not isinstance(op, ConcatenateOp):
        return indices
    if op.dimension.value.data != vector_dim:
        return None
    for operand in op.inputs:
        width = _size(operand, vector_dim)
        if component < width:
            return operand
        component -= width
    return None


def _without_component(user: Operation, indices: SSAValue, component: int, vector_dim: int) -> SSAValue:
    """Return the indices without one component, inserting the necessary ops before `user`."""
    size = _size(indices, vector_dim)
    op = indices.owner
    if isinstance(op, ConcatenateOp) and len(op.inputs) == size:
        slices = [operand for index, operand in enumerate(op.inputs) if index != component]
    else:
        ranges = [(start, limit) for start, limit in ((0, component), (component + 1, size)) if start < limit]
        slices = [_slice(user, indices, vector_dim, *bounds) for bounds in ranges]
    if len(slices) == 1:
        return slices[0]
    joined = ConcatenateOp.create(
        operands=slices,
        result_types=[_resized(indices, vector_dim, size - 1)],
        properties={"dimension": IntegerAttr(vector_dim, i64)},
    )
    insert_before(user, joined)
    return joined.result


def _slice(user: Operation, value: SSAValue, dim: int, start: int, limit: int) -> SSAValue:
    shape = static_shape(value.type) or ()
    starts = [start if index == dim else 0 for index in range(len(shape))]
    limits = [limit if index == dim else size for index, size in enumerate(shape)]
    sliced = SliceOp.create(
        operands=[value],
        result_types=[_resized(value, dim, limit - start)],
        properties={
            "start_indices": DenseArrayBase.from_list(i64, starts),
            "limit_indices": DenseArrayBase.from_list(i64, limits),
            "strides": DenseArrayBase.from_list(i64, [1] * len(shape)),
        },
    )
    insert_before(user, sliced)
    return sliced.result


def _resized(value: SSAValue, dim: int, size: int) -> TensorType[Attribute]:
    """Return the type of `value` with another size of one dim."""
    tensor = cast("TensorType[Attribute]", value.type)
    shape = [size if index == dim else old_size for index, old_size in enumerate(tensor.get_shape())]
    return TensorType(tensor.get_element_type(), shape)


def _size(value: SSAValue, dim: int) -> int:
    return (static_shape(value.type) or ())[dim]


def _without_batch(dims: DimIndices) -> DimIndices:
    return tuple(dim for dim in dims if dim != 0)
