"""Contract two arrays over shared dims, as matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from sdy.interpreter.arrays.element_types import Array, DType, compute_dtype, is_complex
from sdy.interpreter.kernel import KernelContext
from sdy.model.shape import StaticShape


@dataclass(frozen=True, slots=True)
class ContractedDims:
    """Dims of the two tensors, paired in order: `batch` dims are shared and kept, `summed` dims are contracted."""

    lhs_batch: StaticShape
    rhs_batch: StaticShape
    lhs_summed: StaticShape
    rhs_summed: StaticShape


def contracted(context: KernelContext, lhs: Array, rhs: Array, dims: ContractedDims, dtype: DType) -> Array:
    """Return the contraction: batch dims, then the free dims of `lhs`, then those of `rhs`, as elements of `dtype`.

    Each device multiplies its own matrices. In one product of the rows of all devices, equal rows could be rounded
    differently: BLAS computes the last rows and columns of a matrix by other kernels than the rest.
    """
    wide = _product_dtype(lhs.dtype, rhs.dtype, dtype)
    left = _Operand(context, lhs.astype(wide, copy=False), dims.lhs_batch, dims.lhs_summed)
    right = _Operand(context, rhs.astype(wide, copy=False), dims.rhs_batch, dims.rhs_summed)
    lefts, rights = left.matrices(left.free, left.summed), right.matrices(right.summed, right.free)
    product = _matrix_product(lefts, rights, prod(left.sizes(left.batch)))
    # NumPy combines i1 by and/or and wraps integers, as StableHLO does.
    sizes = left.sizes(left.batch) + left.sizes(left.free) + right.sizes(right.free)
    return product.reshape(context.leading(product) + sizes).astype(dtype, copy=False)


MOST_IN_ORDER = 1 << 14


def _matrix_product(left: Array, right: Array, count: int) -> Array:
    """Return the products of stacks of matrices, of which each device has `count`.

    Small products are summed in order, as the reference interpreter does; on any number of devices, the same ones are.
    """
    rows, summed, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    if left.dtype.kind not in "fc" or not 0 < summed * rows * columns * count <= MOST_IN_ORDER:
        return np.matmul(left, right)
    total: Array = np.zeros((*left.shape[:-1], columns), left.dtype)
    for place in range(summed):
        total = np.add(total, np.multiply(left[..., :, place, None], right[..., place, None, :]))
    return total


class _Operand:
    """One operand of the contraction: which of its dims are batch, free or summed."""

    def __init__(self, context: KernelContext, array: Array, batch: StaticShape, summed: StaticShape) -> None:
        self.array = array
        self.context = context
        self.batch = context.dims(batch)
        self.summed = context.dims(summed)
        taken = {*self.batch, *self.summed}
        self.free = tuple(dim for dim in range(context.rank, array.ndim) if dim not in taken)

    def sizes(self, dims: StaticShape) -> StaticShape:
        return tuple(self.array.shape[dim] for dim in dims)

    def matrices(self, rows: StaticShape, columns: StaticShape) -> Array:
        """Return the array as a stack of matrices with these dims as rows and columns, per device and batch."""
        rank = self.context.rank
        ordered = self.array.transpose([*range(rank), *self.batch, *rows, *columns])
        stack = ordered.shape[: rank + len(self.batch)]
        return ordered.reshape((*stack, prod(self.sizes(rows)), prod(self.sizes(columns))))


def _product_dtype(lhs: DType, rhs: DType, result: DType) -> DType:
    """Return a dtype that holds the elements of all three, at least f32 for floats."""
    if is_complex(result):
        return result
    return np.result_type(compute_dtype(lhs), compute_dtype(rhs), compute_dtype(result))
