"""Sums of products over dims that two arrays share, as one matrix product."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from sdy.interpreter.arrays.element_types import Array, DType, compute_dtype, is_complex
from sdy.interpreter.kernel import KernelContext, Shape


@dataclass(frozen=True, slots=True)
class ContractedDims:
    """Dims of the two tensors, pairwise in order: `batch` dims stay and are shared, `summed` dims go away."""

    lhs_batch: Shape
    rhs_batch: Shape
    lhs_summed: Shape
    rhs_summed: Shape


def contracted(context: KernelContext, lhs: Array, rhs: Array, dims: ContractedDims, dtype: DType) -> Array:
    """The batch dims, then the remaining dims of `lhs`, then those of `rhs`, as elements of `dtype`.

    A batch dim of the devices along which one side does not vary is treated as a remaining dim of the other side:
    one large matrix product is faster than many small ones.
    """
    wide = _product_dtype(lhs.dtype, rhs.dtype, dtype)
    left = _Side(context, lhs.astype(wide, copy=False), dims.lhs_batch, dims.lhs_summed)
    right = _Side(context, rhs.astype(wide, copy=False), dims.rhs_batch, dims.rhs_summed)
    varies_left, varies_right = left.varying(), right.varying()
    shared = [axis for axis in range(context.rank) if axis in varies_left and axis in varies_right]
    only_left = [axis for axis in varies_left if axis not in shared]
    only_right = [axis for axis in varies_right if axis not in shared]

    batch_sizes = tuple(lhs.shape[axis] for axis in shared) + left.sizes(left.batch)
    product = _matrix_product(
        left.matrices(shared, (*only_left, *left.free), left.summed, batch_sizes),
        right.matrices(shared, right.summed, (*only_right, *right.free), batch_sizes),
    )
    # NumPy multiplies i1 as or of ands, and wraps integers, as StableHLO does.
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
    """The product of matrices; of small ones with the sums in order, as the reference interpreter has them."""
    rows, summed, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    if left.dtype.kind not in "fc" or not 0 < summed * rows * columns * prod(left.shape[:-2]) <= MOST_IN_ORDER:
        return np.matmul(left, right)
    total: Array = np.zeros((*left.shape[:-1], columns), left.dtype)
    for place in range(summed):
        total = np.add(total, np.multiply(left[..., :, place, None], right[..., place, None, :]))
    return total


class _Side:
    """One operand: which of its dims, batch dims of the devices included, play which part."""

    def __init__(self, context: KernelContext, array: Array, batch: Shape, summed: Shape) -> None:
        self.array = array
        self.context = context
        self.batch = context.dims(batch)
        self.summed = context.dims(summed)
        taken = {*self.batch, *self.summed}
        self.free = tuple(dim for dim in range(context.rank, array.ndim) if dim not in taken)

    def varying(self) -> list[int]:
        return [axis for axis in range(self.context.rank) if self.array.shape[axis] != 1]

    def sizes(self, dims: Shape) -> Shape:
        return tuple(self.array.shape[dim] for dim in dims)

    def matrices(self, shared: list[int], rows: Shape, columns: Shape, batch_sizes: Shape) -> Array:
        """The array as a stack of matrices whose rows and columns are these dims."""
        constant = [axis for axis in range(self.context.rank) if self.array.shape[axis] == 1]
        ordered = self.array.transpose([*constant, *shared, *self.batch, *rows, *columns])
        return ordered.reshape((*batch_sizes, prod(self.sizes(rows)), prod(self.sizes(columns))))


def _product_dtype(lhs: DType, rhs: DType, result: DType) -> DType:
    """A dtype that holds the elements of all three, f32 at least where they are floats."""
    if is_complex(result):
        return result
    return np.result_type(compute_dtype(lhs), compute_dtype(rhs), compute_dtype(result))
