"""Kernels of contractions: dot, dot_general, einsum, ragged_dot."""

from __future__ import annotations

from operator import le
from typing import cast

import numpy as np
from numpy.typing import NDArray

from sdy.dialects.chlo.attrs import RaggedDotDimensionNumbers
from sdy.dialects.chlo.structured import RaggedDotOp
from sdy.dialects.stablehlo import contraction as ops
from sdy.dialects.stablehlo.attributes.types import rank_of, shape_of
from sdy.interpreter.arrays.element_types import Array, DType, compute_dtype, dtype_of_type
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable
from sdy.interpreter.ops.contract import ContractedDims, contracted
from sdy.model.shape import StaticShape

KERNELS = KernelTable()


@KERNELS.of(ops.DotGeneralOp, ops.DotOp)
def dot(op: ops.DotGeneralOp | ops.DotOp) -> Kernel:
    """Contract; the result has batch dims, then free dims of lhs, then free dims of rhs."""
    dims, dtype = contracted_dims(op), dtype_of_type(op.result.type)
    return lambda context, arrays: (contracted(context, arrays[0], arrays[1], dims, dtype),)


def contracted_dims(op: ops.DotGeneralOp | ops.DotOp | RaggedDotOp) -> ContractedDims:
    """Return how the dims of the operands are paired."""
    if isinstance(op, ops.DotOp):
        return ContractedDims((), (), (rank_of(op.lhs) - 1,), (0,))
    numbers = (op.ragged_dot_dimension_numbers if isinstance(op, RaggedDotOp) else op.dot_dimension_numbers).data
    return ContractedDims(
        numbers.lhs_batching_dimensions,
        numbers.rhs_batching_dimensions,
        numbers.lhs_contracting_dimensions,
        numbers.rhs_contracting_dimensions,
    )


@KERNELS.of(ops.EinsumOp, ops.UnaryEinsumOp)
def einsum(op: ops.EinsumOp | ops.UnaryEinsumOp) -> Kernel:
    """Multiply, and sum over the letters that the result lacks."""
    subscripts = einsum_subscripts(op)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        dtype = arrays[0].dtype
        # NumPy's stub lists only some dtypes; einsum accepts all.
        wide = [cast(NDArray[np.float64], array.astype(compute_dtype(dtype), copy=False)) for array in arrays]
        return (np.asarray(np.einsum(subscripts, *wide)).astype(dtype, copy=False),)

    return kernel


def einsum_subscripts(op: ops.EinsumOp | ops.UnaryEinsumOp) -> str:
    """Return NumPy's subscripts for those of the op. Raises: SdyError SDY-X018 if they do not fit the operands."""
    config = op.einsum_config.data
    operands, arrow, result = config.replace(" ", "").partition("->")
    ranks = [len(shape_of(value)) for value in op.operands]
    counts = [len(letters.replace("...", "")) for letters in operands.split(",")]
    letters = (operands + result).replace("...", "").replace(",", "")
    is_valid = arrow and len(counts) == len(ranks) and all(map(le, counts, ranks)) and letters.isalpha()
    if not is_valid or not {*result} <= {*operands} or len({*result}) != len(result):
        raise failure("SDY-X018", f"expected letters for the dims, such as ab,bc->ac, got {config}")
    # NumPy's ellipsis represents the batch dims, which broadcast.
    return ",".join(f"...{letters}" for letters in operands.split(",")) + f"->...{result}"


@KERNELS.of(RaggedDotOp)
def ragged_dot(op: RaggedDotOp) -> Kernel:
    """Multiply row i of lhs by the matrix of its group; a summed ragged dim gives one matrix per group."""
    numbers, dtype = op.ragged_dot_dimension_numbers.data, dtype_of_type(op.result.type)
    (ragged,) = numbers.lhs_ragged_dimensions
    dims = contracted_dims(op)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        lhs, rhs, sizes = arrays
        if ragged in dims.lhs_batch:
            return (contracted(context, lhs, rhs, dims, dtype),)  # groups of batch dims do not change the product
        members = _members(context, lhs, sizes, ragged, numbers.dims_with_own_sizes(rank_of(op.lhs)))
        if ragged in dims.lhs_summed:
            return (_matrix_per_group(context, lhs, rhs, dims, members, dtype),)
        return (_row_by_group(context, lhs, rhs, numbers, dims, members, dtype),)

    return kernel


def _members(context: KernelContext, lhs: Array, sizes: Array, ragged: int, prefix: StaticShape) -> NDArray[np.bool_]:
    """Return which elements of lhs belong to each group: the dims of lhs, of size 1 if constant, then the groups."""
    local = context.local(sizes)
    ends = np.cumsum(sizes.astype(np.int64), axis=-1)
    placed = [1] * (lhs.ndim - context.rank)
    for dim, size in zip(prefix, local[:-1], strict=False):
        placed[dim] = size
    order = sorted(range(len(local) - 1), key=lambda place: prefix[place])
    ends = ends.transpose((*range(context.rank), *context.dims(order), ends.ndim - 1))
    ends = ends.reshape((*context.leading(sizes), *placed, local[-1]))
    starts = ends - np.diff(ends, axis=-1, prepend=0)
    along = [lhs.shape[context.rank + ragged] if dim == ragged else 1 for dim in range(len(placed))]
    places: IntArray = np.arange(lhs.shape[context.rank + ragged], dtype=np.int64).reshape((*along, 1))
    return (places >= starts) & (places < ends)


def _matrix_per_group(
    context: KernelContext, lhs: Array, rhs: Array, dims: ContractedDims, members: NDArray[np.bool_], dtype: DType
) -> Array:
    """Return one product per group, of the elements in it, along a new first dim."""
    results: list[Array] = []
    to_rhs = dict(zip((*dims.lhs_batch, *dims.lhs_summed), (*dims.rhs_batch, *dims.rhs_summed), strict=True))
    for group in range(members.shape[-1]):
        inside = members[..., group]
        local = context.local(inside)
        on_rhs = [1] * (rhs.ndim - context.rank)
        order = sorted((dim for dim in to_rhs), key=to_rhs.__getitem__)
        for dim in order:
            on_rhs[to_rhs[dim]] = local[dim]
        free = [dim for dim in range(len(local)) if dim not in to_rhs]
        moved = inside.transpose((*range(context.rank), *context.dims((*order, *free))))
        right = np.where(moved.reshape((*context.leading(inside), *on_rhs)), rhs, np.zeros((), rhs.dtype))
        left = np.where(inside, lhs, np.zeros((), lhs.dtype))
        results.append(contracted(context, left, right, dims, dtype))
    return np.stack(context.aligned(results), axis=context.rank)


def _row_by_group(
    context: KernelContext,
    lhs: Array,
    rhs: Array,
    numbers: RaggedDotDimensionNumbers,
    dims: ContractedDims,
    members: NDArray[np.bool_],
    dtype: DType,
) -> Array:
    """Multiply every row of lhs by the matrix of its group; rows in no group give zeros."""
    (group_dim,) = numbers.rhs_group_dimensions
    inner = ContractedDims(
        dims.lhs_batch,
        _without(dims.rhs_batch, group_dim),
        dims.lhs_summed,
        _without(dims.rhs_summed, group_dim),
    )
    rank = lhs.ndim - context.rank
    free = [dim for dim in range(rank) if dim not in (*dims.lhs_batch, *dims.lhs_summed)]
    result: Array | None = None
    for group in range(members.shape[-1]):
        product = contracted(context, lhs, np.take(rhs, group, axis=context.rank + group_dim), inner, dtype)
        inside = members[..., group]
        ordered = inside.transpose((*range(context.rank), *context.dims((*dims.lhs_batch, *free, *dims.lhs_summed))))
        kept = len(dims.lhs_batch) + len(free)
        sizes = context.local(ordered)[:kept] + (1,) * (product.ndim - context.rank - kept)
        rest = np.zeros((), dtype) if result is None else result
        result = np.where(ordered.reshape(context.leading(ordered) + sizes), product, rest)
    assert result is not None
    return result


def _without(dims: StaticShape, removed: int) -> StaticShape:
    """Return the dims renumbered without the removed one."""
    return tuple(dim - (dim > removed) for dim in dims)
