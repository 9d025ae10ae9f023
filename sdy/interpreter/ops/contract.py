"""Contract two arrays over shared dims, as matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from sdy.interpreter.arrays.element_types import Array, DType, compute_dtype, is_complex
from sdy.interpreter.arrays.field_types import is_field
from sdy.interpreter.field.functions import elements_product
from sdy.interpreter.kernel import KernelContext, field_of
from sdy.model.shape import StaticShape


@dataclass(frozen=True, slots=True)
class ContractedDims:
    """Dims of the two tensors, paired in order: `batch` dims are shared and kept, `summed` dims are contracted."""

    lhs_batch: StaticShape
    rhs_batch: StaticShape
    lhs_summed: StaticShape
    rhs_summed: StaticShape


def contracted(
    context: KernelContext, lhs: Array, rhs: Array, dims: ContractedDims, dtype: DType, over: tuple[int, ...] = ()
) -> Array:
    """Return the contraction: batch dims, then the free dims of `lhs`, then those of `rhs`, as elements of `dtype`.

    The products of the devices along the grid axes `over` are added, as terms of one sum of `dtype`.

    Otherwise, each device multiplies its own matrices. In one product of the rows of all devices, equal rows could be
    rounded differently: BLAS computes the last rows and columns of a matrix by other kernels than the rest.
    """
    wide = dtype if is_field(dtype) else _product_dtype(lhs.dtype, rhs.dtype, dtype)
    left = _Operand(context, lhs.astype(wide, copy=False), dims.lhs_batch, dims.lhs_summed, over)
    right = _Operand(context, rhs.astype(wide, copy=False), dims.rhs_batch, dims.rhs_summed, over)
    lefts, rights = left.matrices(left.free, left.summed), right.matrices(right.summed, right.free)
    if is_field(dtype):
        product = elements_product(field_of(context), lefts, rights)
    else:
        product = _matrix_product(lefts, rights, prod(left.sizes(left.batch)))
    sizes = left.sizes(left.batch) + left.sizes(left.free) + right.sizes(right.free)
    leading = iter(product.shape)
    devices = tuple(1 if axis in over else next(leading) for axis in range(context.rank))
    # NumPy combines i1 by and/or and wraps integers, as StableHLO does.
    return product.reshape(devices + sizes).astype(dtype, copy=False)


def can_contract_over(
    context: KernelContext, lhs: Array, rhs: Array, dims: ContractedDims, dtype: DType, over: tuple[int, ...]
) -> bool:
    """Return whether `contracted` adds the products along `over` in as many operations as computing each of them takes.

    Operands of other dtypes and small products are excluded: the products of the devices are rounded to `dtype`, and
    small ones are summed in order.
    """
    varies = all(lhs.shape[axis] > 1 or rhs.shape[axis] > 1 for axis in over)
    free = prod(size for dim, size in enumerate(context.local(rhs)) if dim not in dims.rhs_batch + dims.rhs_summed)
    is_large = prod(context.local(lhs)) * free > MOST_IN_ORDER
    return varies and is_large and lhs.dtype == rhs.dtype == dtype


MOST_IN_ORDER = 1 << 11  # multiplications
LEAST_READ = 32  # rows or columns that an operand is multiplied by, so that a copy pays


def _matrix_product(left: Array, right: Array, count: int) -> Array:
    """Return the products of stacks of matrices, of which each device has `count`.

    Small products are summed in order, as the reference interpreter does; on any number of devices, the same ones are.
    """
    rows, summed, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    if left.dtype.kind not in "fc" or not 0 < summed * rows * columns * count <= MOST_IN_ORDER:
        return np.matmul(_row_major(left, right), _row_major(right, left))
    if rows > columns:  # NumPy is faster the longer the last dim
        return _sum_in_order(right.swapaxes(-1, -2), left.swapaxes(-1, -2)).swapaxes(-1, -2)
    return _sum_in_order(left, right)


def _row_major(matrices: Array, others: Array) -> Array:
    """Return the matrices in contiguous memory row by row, if each is multiplied by many rows or columns of others.

    BLAS reads a part of a larger matrix up to three times as slowly, because its rows are far apart. Transposed
    matrices stay as they are: BLAS multiplies them by another kernel, and whether it does must not depend on the
    number of devices.
    """
    if matrices.strides[-1] != matrices.itemsize:
        return matrices
    stack, shape = matrices.shape[:-2], others.shape
    uses = prod(np.broadcast_shapes(stack, shape[:-2])) // max(prod(stack), 1)
    is_read_often = uses > 1 and uses * min(shape[-2:]) >= LEAST_READ
    return np.ascontiguousarray(matrices) if is_read_often else matrices


def _sum_in_order(left: Array, right: Array) -> Array:
    """Return the products of stacks of matrices, adding one term of each element after another."""
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    total: Array = np.zeros((*stack, left.shape[-2], right.shape[-1]), left.dtype)
    term = np.empty_like(total)
    right = np.ascontiguousarray(right)
    for place in range(left.shape[-1]):
        np.multiply(left[..., :, place, None], right[..., place, None, :], out=term)
        np.add(total, term, out=total)
    return total


class _Operand:
    """One operand of the contraction: which of its dims are batch, free or summed.

    The dims of the grid axes `over` have their full size and are the first summed dims.
    """

    def __init__(
        self, context: KernelContext, array: Array, batch: StaticShape, summed: StaticShape, over: tuple[int, ...]
    ) -> None:
        sizes = [context.batch[dim] if dim in over else size for dim, size in enumerate(array.shape)]
        self.array = np.broadcast_to(array, sizes) if over else array
        self.batch = context.dims(batch)
        self.summed = over + context.dims(summed)
        self.devices = tuple(axis for axis in range(context.rank) if axis not in over)
        taken = {*self.batch, *self.summed}
        self.free = tuple(dim for dim in range(context.rank, array.ndim) if dim not in taken)

    def sizes(self, dims: StaticShape) -> StaticShape:
        return tuple(self.array.shape[dim] for dim in dims)

    def matrices(self, rows: StaticShape, columns: StaticShape) -> Array:
        """Return the array as a stack of matrices with these dims as rows and columns, per device and batch."""
        stack = self.devices + self.batch
        ordered = self.array.transpose([*stack, *rows, *columns])
        return ordered.reshape((*self.sizes(stack), prod(self.sizes(rows)), prod(self.sizes(columns))))


def _product_dtype(lhs: DType, rhs: DType, result: DType) -> DType:
    """Return a dtype that holds the elements of all three, at least f32 for floats."""
    if is_complex(result):
        return result
    return np.result_type(compute_dtype(lhs), compute_dtype(rhs), compute_dtype(result))
