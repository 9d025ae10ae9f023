"""Contract two arrays over shared dims, as one matrix product."""

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

    A device axis along which one side does not vary is treated as a free dim of the other side, since one large matrix
    product is faster than many small ones.
    """
    wide = _product_dtype(lhs.dtype, rhs.dtype, dtype)
    left = _Operand(context, lhs.astype(wide, copy=False), dims.lhs_batch, dims.lhs_summed)
    right = _Operand(context, rhs.astype(wide, copy=False), dims.rhs_batch, dims.rhs_summed)
    varies_left, varies_right = left.varying(), right.varying()
    shared = [axis for axis in range(context.rank) if axis in varies_left and axis in varies_right]
    only_left = [axis for axis in varies_left if axis not in shared]
    only_right = [axis for axis in varies_right if axis not in shared]

    batch_sizes = tuple(lhs.shape[axis] for axis in shared) + left.sizes(left.batch)
    product = _matrix_product(
        left.matrices(shared, (*only_left, *left.free), left.summed, batch_sizes),
        right.matrices(shared, right.summed, (*only_right, *right.free), batch_sizes),
    )
    # NumPy combines i1 by and/or and wraps integers, as StableHLO does.
    unfolded = product.reshape(
        batch_sizes + left.sizes((*only_left, *left.free)) + right.sizes((*only_right, *right.free))
    )
    names: list[int | str] = [*shared, *(f"batch {dim}" for dim in range(len(left.batch)))]
    names += [*only_left, *(f"left {dim}" for dim in left.free)]
    names += [*only_right, *(f"right {dim}" for dim in right.free)]
    local = [name for name in names if isinstance(name, str)]
    varying = sorted(name for name in names if isinstance(name, int))
    ordered = unfolded.transpose([names.index(name) for name in (*varying, *local)])
    leading = tuple(max(lhs.shape[axis], rhs.shape[axis]) for axis in range(context.rank))
    return ordered.reshape(leading + ordered.shape[len(varying) :]).astype(dtype, copy=False)


MOST_IN_ORDER = 1 << 14


def _matrix_product(left: Array, right: Array) -> Array:
    """Return the matrix product; small ones are summed in order, as the reference interpreter does."""
    rows, summed, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    if left.dtype.kind not in "fc" or not 0 < summed * rows * columns * prod(left.shape[:-2]) <= MOST_IN_ORDER:
        return np.matmul(left, right)
    total: Array = np.zeros((*left.shape[:-1], columns), left.dtype)
    for place in range(summed):
        total = np.add(total, np.multiply(left[..., :, place, None], right[..., place, None, :]))
    return total


class _Operand:
    """One operand of the contraction: which of its dims, device axes included, are batch, free or summed."""

    def __init__(self, context: KernelContext, array: Array, batch: StaticShape, summed: StaticShape) -> None:
        self.array = array
        self.context = context
        self.batch = context.dims(batch)
        self.summed = context.dims(summed)
        taken = {*self.batch, *self.summed}
        self.free = tuple(dim for dim in range(context.rank, array.ndim) if dim not in taken)

    def varying(self) -> list[int]:
        return [axis for axis in range(self.context.rank) if self.array.shape[axis] != 1]

    def sizes(self, dims: StaticShape) -> StaticShape:
        return tuple(self.array.shape[dim] for dim in dims)

    def matrices(self, shared: list[int], rows: StaticShape, columns: StaticShape, batch_sizes: StaticShape) -> Array:
        """Return the array as a stack of matrices with these dims as rows and columns."""
        constant = [axis for axis in range(self.context.rank) if self.array.shape[axis] == 1]
        ordered = self.array.transpose([*constant, *shared, *self.batch, *rows, *columns])
        return ordered.reshape((*batch_sizes, prod(self.sizes(rows)), prod(self.sizes(columns))))


def _product_dtype(lhs: DType, rhs: DType, result: DType) -> DType:
    """Return a dtype that holds the elements of all three, at least f32 for floats."""
    if is_complex(result):
        return result
    return np.result_type(compute_dtype(lhs), compute_dtype(rhs), compute_dtype(result))
