"""Turn a batch dim that a gather or scatter expresses by indices into an explicit batching dim.

    before  %i = iota dim = 0 : 4x1    %c = concatenate %i, %k, dim = 1
            gather(%a, %c)  collapsed_slice_dims = [0], start_index_map = [0, 1]
    after   gather(%a, %k)  operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1]

The remaining indices are positions within a batch, so the batch dim can be sharded. Unless `all-dims` is set, equal
constants are merged and dead ops are erased, as in Shardy.

Each element of an index tensor is its own position along some dim in `stablehlo.iota`, in its reshapes and broadcasts,
in a clamp to a range that it is within, and in a select that adds the size to negative indices, since there are none.
The analysis is stricter than Shardy, which treats any reshape, clamp and select as the identity. Source: docs/spec/04,
2.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.attrs import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.dialects.stablehlo.elementwise import ClampOp, CompareOp, SelectOp
from sdy.dialects.stablehlo.gather_scatter import FALSE, GatherOp, ScatterOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, IotaOp, ReshapeOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.dialects.verification.attribute_checks import SHARDING_RULE
from sdy.partitioner.emit.emitter import Emitter, Style
from sdy.partitioner.emit.slices import slice_along
from sdy.partitioner.on_shards.combiners import constant_scalar, index_bounds
from sdy.passes.rewriting.dead_code import erase_dead_ops
from sdy.passes.rewriting.unique_constants import unique_constants
from sdy.rules.tensors import shape_or_empty


def position_dim(value: SSAValue) -> int | None:
    """Return the dim along which every `value[i]` is `i`; None if no dim is known to be one."""
    match value.owner:
        case IotaOp() as op:
            dim = op.iota_dimension.value.data
            return dim if _can_count_to(value, shape_or_empty(value)[dim] - 1) else None
        case BroadcastInDimOp() as op:
            return _after_broadcast(op, position_dim(op.operand))
        case ReshapeOp() as op:
            return _after_reshape(op, position_dim(op.operand))
        case ClampOp() as op:
            dim = position_dim(op.operand)
            return dim if dim is not None and _is_within(op, shape_or_empty(value)[dim]) else None
        case SelectOp() as op:
            return position_dim(op.on_false) if _is_negative_check(op.pred, op.on_false) else None
        case _:
            return None


def _after_broadcast(op: BroadcastInDimOp, dim: int | None) -> int | None:
    if dim is None:
        return None
    target = ints_of(op.broadcast_dimensions)[dim]
    return target if shape_or_empty(op.operand)[dim] == shape_or_empty(op.result)[target] else None


def _after_reshape(op: ReshapeOp, dim: int | None) -> int | None:
    """Return the dim of equal size with as many elements minor to it, which the reshape preserves."""
    if dim is None:
        return None
    before, after = shape_or_empty(op.operand), shape_or_empty(op.result)
    for target, size in enumerate(after):
        if size == before[dim] and prod(after[target + 1 :]) == prod(before[dim + 1 :]):
            return target
    return None


def _is_within(op: ClampOp, size: int) -> bool:
    low, high = _common_value(op.min), _common_value(op.max)
    return low is not None and high is not None and low <= 0 and high >= size - 1


def _is_negative_check(predicate: SSAValue, position: SSAValue) -> bool:
    """Return whether the predicate is `position < c` with `c <= 0`, which is always false."""
    op = predicate.owner
    if not isinstance(op, CompareOp) or op.comparison_direction.data is not ComparisonDirection.LT:
        return False
    limit = _common_value(op.rhs)
    return op.lhs is position and limit is not None and limit <= 0


def _common_value(value: SSAValue) -> int | None:
    """Return the integer that all elements are equal to; None if they are not constant, or differ."""
    found = constant_scalar(value)
    return found if isinstance(found, int) else None


def _can_count_to(value: SSAValue, last: int) -> bool:
    """Return whether the element type can represent integers up to `last`: a narrower iota would wrap around."""
    return isinstance(element_type_of(value), IntegerType) and last <= index_bounds(element_type_of(value))[1]


DimIndices = tuple[int, ...]


class Indexing(NamedTuple):
    """The operand and the indices of a gather or scatter, and the dims that the numbers of the op name."""

    operand: SSAValue
    indices: SSAValue
    index_map: DimIndices  # the operand dim of each component of the indices
    dropped: DimIndices  # the operand dims that slices do not have, beside batch dims
    batching: DimIndices  # the operand dims that are batch dims already
    indices_batching: DimIndices  # their dims in the indices
    vector_dim: int  # the dim of the indices that holds the components


class Batch(NamedTuple):
    """A component of the indices that is the position along a dim of the operand and one of the indices."""

    component: int
    dim: int
    index_dim: int


@dataclass(frozen=True)
class ExplicitGatherScatterBatchingPass(ModulePass):
    """Make dim 0 an explicit batching dim if one component of the indices is the position along it.

    With `all_dims`, other dims than 0, several of them, and ops that have batching dims already are rewritten too, and
    only the ops that this leaves without users are erased.
    """

    name = "sdy-explicit-gather-scatter-batching"

    all_dims: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the gathers and scatters of each function."""
        for func in op.ops:
            if isinstance(func, FuncOp) and not self.all_dims:
                unique_constants(pre_order(func))
                _rewrite(func, _first_dim_batch)
                erase_dead_ops(pre_order(func))
            elif isinstance(func, FuncOp):
                for indices in _rewrite(func, _any_batch):
                    _erase_unused(indices)


def _rewrite(func: FuncOp, find: Callable[[Indexing], Batch | None]) -> list[SSAValue]:
    """Make the batch dims that `find` finds explicit, one by one; return the indices that were replaced."""
    replaced: list[SSAValue] = []
    for op in pre_order(func):
        if isinstance(op, GatherOp | ScatterOp) and SHARDING_RULE not in op.attributes:
            while (batch := find(indexing := _indexing(op))) is not None:
                replaced.append(indexing.indices)
                _make_explicit(op, indexing, batch)
    return replaced


def _indexing(op: GatherOp | ScatterOp) -> Indexing:
    if isinstance(op, GatherOp):
        gather = op.dimension_numbers.data
        return Indexing(
            op.operand,
            op.start_indices,
            gather.start_index_map,
            gather.collapsed_slice_dims,
            gather.operand_batching_dims,
            gather.start_indices_batching_dims,
            gather.index_vector_dim,
        )
    scatter = op.scatter_dimension_numbers.data
    return Indexing(
        op.inputs[0],
        op.scatter_indices,
        scatter.scatter_dims_to_operand_dims,
        scatter.inserted_window_dims,
        scatter.input_batching_dims,
        scatter.scatter_indices_batching_dims,
        scatter.index_vector_dim,
    )


def _make_explicit(op: GatherOp | ScatterOp, indexing: Indexing, batch: Batch) -> None:
    """Remove the component of the batch from the indices, and make its dims a pair of batching dims."""
    pairs = sorted([*zip(indexing.batching, indexing.indices_batching, strict=True), (batch.dim, batch.index_dim)])
    batching, indices_batching = tuple(dim for dim, _ in pairs), tuple(dim for _, dim in pairs)
    index_map, dropped = (_without(dims, batch.dim) for dims in (indexing.index_map, indexing.dropped))
    indices = _without_component(op, indexing.indices, batch.component, indexing.vector_dim)
    op.indices_are_sorted = FALSE  # sorted indices need not be sorted without the leading batch component
    if isinstance(op, GatherOp):
        op.operands[1] = indices
        op.dimension_numbers = GatherDimensionNumbersAttr(
            op.dimension_numbers.data._replace(
                collapsed_slice_dims=dropped,
                operand_batching_dims=batching,
                start_indices_batching_dims=indices_batching,
                start_index_map=index_map,
            )
        )
        return
    op.operands[len(op.inputs)] = indices
    op.unique_indices = op.unique_indices or FALSE
    op.scatter_dimension_numbers = ScatterDimensionNumbersAttr(
        op.scatter_dimension_numbers.data._replace(
            inserted_window_dims=dropped,
            input_batching_dims=batching,
            scatter_indices_batching_dims=indices_batching,
            scatter_dims_to_operand_dims=index_map,
        )
    )


def _first_dim_batch(indexing: Indexing) -> Batch | None:
    """Return the batch that Shardy finds, which is dim 0 of operand and indices; None if the op has batching dims."""
    if indexing.batching or indexing.vector_dim == 0 or 0 not in indexing.index_map:
        return None
    found = _batch(indexing, indexing.index_map.index(0))
    return found if found is not None and found.index_dim == 0 else None


def _any_batch(indexing: Indexing) -> Batch | None:
    """Return the first component of the indices that is the position along dims of equal size; None without one."""
    found = (_batch(indexing, component) for component in range(len(indexing.index_map)))
    return next((each for each in found if each is not None), None)


def _batch(indexing: Indexing, component: int) -> Batch | None:
    """Return a component of the indices as a batch; None if it is none, or the only component."""
    shape, sizes = static_shape(indexing.operand.type), static_shape(indexing.indices.type)
    if not shape or not sizes or indexing.vector_dim == len(sizes) or sizes[indexing.vector_dim] < 2:
        return None
    dim = indexing.index_map[component]
    values = _component(indexing.indices, component, indexing.vector_dim) if dim in indexing.dropped else None
    index_dim = None if values is None else position_dim(values)
    if index_dim is None or index_dim in (indexing.vector_dim, *indexing.indices_batching):
        return None
    return Batch(component, dim, index_dim) if shape[dim] == sizes[index_dim] else None


def _erase_unused(value: SSAValue) -> None:
    """Erase the op of a value if nothing uses it, and then those that only it used."""
    op = value.owner
    if isinstance(op, Operation):
        operands = tuple(op.operands)
        if erase_dead_ops([op]):
            for operand in operands:
                _erase_unused(operand)


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
    emit, size, op = Emitter(user, Style()), _size(indices, vector_dim), indices.owner
    if isinstance(op, ConcatenateOp) and len(op.inputs) == size:
        slices = [operand for index, operand in enumerate(op.inputs) if index != component]
    else:
        ranges = [(start, limit) for start, limit in ((0, component), (component + 1, size)) if start < limit]
        slices = [slice_along(emit, indices, vector_dim, *bounds) for bounds in ranges]
    return emit.concatenate(slices, vector_dim)


def _size(value: SSAValue, dim: int) -> int:
    return shape_or_empty(value)[dim]


def _without(dims: DimIndices, removed: int) -> DimIndices:
    return tuple(dim for dim in dims if dim != removed)
