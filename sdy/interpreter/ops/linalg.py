"""Kernels of matrix ops: factorizations, Fourier transforms, sorting, batch normalization.

The comparator region of a sort is NumPy's order if it compares one input; else a sorting network runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Block

from sdy.dialects.stablehlo import linalg as ops
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection, ComparisonType, FftType, Transpose
from sdy.dialects.stablehlo.attributes.types import rank_of
from sdy.dialects.stablehlo.elementwise import CompareOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import Array, compute_dtype, dtype_of_type, is_complex, is_float
from sdy.interpreter.arrays.field_types import COMPLEX, conjugated, is_field, parts_of
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, field_of, operand_count, with_unit_dims
from sdy.interpreter.ops.arithmetic import total_order_key

_IS_DESCENDING = {ComparisonDirection.LT: False, ComparisonDirection.GT: True}


def sorted_together(context: KernelContext, comparator: Block, inputs: Arrays, dim: int, captured: Arrays) -> Arrays:
    """Sort the inputs together along `dim`, stably: the comparator never holds of an element and one before it."""
    leading = np.broadcast_shapes(*(context.leading(array) for array in inputs))
    rows = tuple(
        np.moveaxis(np.broadcast_to(array, leading + context.local(array)), context.rank + dim, -1) for array in inputs
    )
    order = _order_by_key(context, comparator, rows)
    if order is None:
        order = _order_by_network(context, comparator, rows, captured)
    return tuple(np.moveaxis(np.take_along_axis(row, order, axis=-1), -1, context.rank + dim) for row in rows)


def stable_order(keys: Array, *, descending: bool) -> IntArray:
    """Return the indices that sort the keys along the last dim; equal keys keep their order."""
    if not descending:
        return np.argsort(keys, axis=-1, kind="stable").astype(np.int64)
    # Reversing the row reverses the order of equal keys; reversing the result restores it.
    turned = np.argsort(keys[..., ::-1], axis=-1, kind="stable").astype(np.int64)
    return keys.shape[-1] - 1 - turned[..., ::-1]


def total_order(context: KernelContext, array: Array) -> Array:
    """Return keys that are ordered as the elements are in their total order, with NaN as the largest."""
    if is_field(array.dtype):
        return field_of(context).total_key(parts_of(array)[0])
    return total_order_key(array) if is_float(array.dtype) else array.astype(compute_dtype(array.dtype), copy=False)


def _order_by_key(context: KernelContext, comparator: Block, rows: Arrays) -> IntArray | None:
    """Return the order if the comparator only compares both elements of one input, else None."""
    terminator = comparator.last_op
    compare = None if terminator is None else terminator.operands[0].owner
    if not isinstance(compare, CompareOp) or compare.comparison_direction.data not in _IS_DESCENDING:
        return None
    positions = [comparator.args.index(side) for side in (compare.lhs, compare.rhs) if side in comparator.args]
    if len(positions) != 2 or positions[0] // 2 != positions[1] // 2 or positions[0] == positions[1]:
        return None
    keys = rows[positions[0] // 2]
    is_total = compare.compare_type is not None and compare.compare_type.data is ComparisonType.TOTALORDER
    if is_complex(keys.dtype) or keys.dtype == COMPLEX:
        return None
    if not is_total and _has_nan(keys):
        return None  # not a strict weak order: NaN is neither before nor after any value
    keys = total_order(context, keys) if is_total or is_field(keys.dtype) else keys.astype(compute_dtype(keys.dtype))
    is_swapped = positions[0] > positions[1]
    descending = _IS_DESCENDING[compare.comparison_direction.data] != is_swapped
    return stable_order(keys, descending=descending)


def _has_nan(keys: Array) -> bool:
    if is_field(keys.dtype):
        return bool(np.isnan(parts_of(keys)[0]).any())
    return is_float(keys.dtype) and bool(np.isnan(keys.astype(compute_dtype(keys.dtype), copy=False)).any())


def _order_by_network(context: KernelContext, comparator: Block, rows: Arrays, captured: Arrays) -> IntArray:
    """Return the order by Batcher's merge exchange: all pairs of a step are compared at once."""
    size = rows[0].shape[-1]
    order: IntArray = np.broadcast_to(np.arange(size, dtype=np.int64), rows[0].shape).copy()
    for low, high in _exchanges(size):
        first, second = order[..., low], order[..., high]
        lhs = tuple(np.take_along_axis(row, first, axis=-1) for row in rows)
        rhs = tuple(np.take_along_axis(row, second, axis=-1) for row in rows)
        is_before = _holds(context, comparator, lhs, rhs, captured)
        is_after = _holds(context, comparator, rhs, lhs, captured)
        swap = is_after | (~is_before & (second < first))
        order[..., low] = np.where(swap, second, first)
        order[..., high] = np.where(swap, first, second)
    return order


def _holds(context: KernelContext, comparator: Block, lhs: Arrays, rhs: Arrays, captured: Arrays) -> NDArray[np.bool_]:
    """Return for each pair of elements whether the comparator holds."""
    sizes = context.local(lhs[0])
    pairs = tuple(side for pair in zip(lhs, rhs, strict=True) for side in pair)
    outer = tuple(with_unit_dims(context, value, len(sizes)) for value in captured)
    (result,) = context.runner.run_block(context.with_elements(sizes), comparator, pairs, outer)
    return np.broadcast_to(result, lhs[0].shape).astype(np.bool_)


def _exchanges(size: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the positions that each step of the network compares.

    Source: Knuth, The Art of Computer Programming, 5.2.2 M.
    """
    top = 1 << max(size - 1, 0).bit_length() >> 1
    part = top
    while part:
        step, remainder, distance = top, 0, part
        while True:
            low = np.arange(max(size - distance, 0), dtype=np.int64)
            low = low[(low & part) == remainder]
            yield low, low + distance
            if step == part:
                break
            distance, step, remainder = step - part, step >> 1, part
        part >>= 1


KERNELS = KernelTable()


@KERNELS.of(ops.CholeskyOp)
def cholesky(op: ops.CholeskyOp) -> Kernel:
    """Return the triangular factor; NaN if a matrix is not positive definite. Only one triangle is read."""
    lower = bool(op.lower.value.data)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        (matrix,) = arrays
        wide = matrix.astype(compute_dtype(matrix.dtype))
        factor = lower_factor(wide if lower else adjoint(wide))
        return ((factor if lower else adjoint(factor)).astype(matrix.dtype, copy=False),)

    return kernel


def lower_factor(matrix: Array) -> Array:
    """Return L with L times its adjoint equal to the matrix, column by column for all matrices at once."""
    factor = np.zeros_like(matrix)
    for column in range(matrix.shape[-1]):
        done = factor[..., column, :column]
        rest = np.subtract(
            matrix[..., column:, column],
            np.matmul(factor[..., column:, :column], np.conj(done)[..., np.newaxis])[..., 0],
        )
        pivot = np.sqrt(np.real(rest[..., :1]))
        factor[..., column:, column] = np.divide(rest, pivot)
        factor[..., column, column] = pivot[..., 0]
    return factor


@KERNELS.of(ops.TriangularSolveOp)
def triangular_solve(op: ops.TriangularSolveOp) -> Kernel:
    """Solve op(a) x = b, or x op(a) = b. Only one triangle is read, without a unit diagonal."""

    def solve(context: KernelContext, matrix: Array, known: Array, *, is_lower: bool, unit_diagonal: bool) -> Array:
        dtype = matrix.dtype
        wide = (array.astype(compute_dtype(dtype)) for array in (matrix, known))
        return substituted(*wide, is_lower=is_lower, unit_diagonal=unit_diagonal).astype(dtype, copy=False)

    return solving_kernel(op, solve)


def solving_kernel(op: ops.TriangularSolveOp, solve: Callable[..., Array]) -> Kernel:
    """Return the kernel that turns the matrices so that `solve` gets them on the left side, not transposed."""
    left_side, lower = bool(op.left_side.value.data), bool(op.lower.value.data)
    unit_diagonal, transpose = bool(op.unit_diagonal.value.data), op.transpose_a.data

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        matrix, known = arrays
        is_lower = lower
        if transpose in (Transpose.TRANSPOSE, Transpose.ADJOINT):
            is_lower = not is_lower
            matrix = adjoint(matrix) if transpose is Transpose.ADJOINT else transposed(matrix)
        if not left_side:
            # x a = b is a^T x^T = b^T.
            is_lower = not is_lower
            matrix, known = transposed(matrix), transposed(known)
        solution = solve(context, matrix, known, is_lower=is_lower, unit_diagonal=unit_diagonal)
        return (solution if left_side else transposed(solution),)

    return kernel


def substituted(matrix: Array, known: Array, *, is_lower: bool, unit_diagonal: bool) -> Array:
    """Solve matrix x = known by substitution, row by row for all matrices at once."""
    leading = np.broadcast_shapes(matrix.shape[:-2], known.shape[:-2])
    solution = np.zeros(leading + known.shape[-2:], known.dtype)
    size = matrix.shape[-1]
    for row in range(size) if is_lower else reversed(range(size)):
        others = slice(0, row) if is_lower else slice(row + 1, size)
        weighed = np.matmul(matrix[..., row : row + 1, others], solution[..., others, :])[..., 0, :]
        rest = np.subtract(known[..., row, :], weighed)
        solution[..., row, :] = rest if unit_diagonal else np.divide(rest, matrix[..., row, row, np.newaxis])
    return solution


def transposed(matrix: Array) -> Array:
    """Swap the last two dims."""
    return np.swapaxes(matrix, -1, -2)


def adjoint(matrix: Array) -> Array:
    """Return the complex conjugate of the transposed matrix."""
    turned = transposed(matrix)
    return conjugated(turned) if is_field(matrix.dtype) else np.conj(turned)


@KERNELS.of(ops.FftOp)
def fft(op: ops.FftOp) -> Kernel:
    """Apply the Fourier transform over the last dims, or its inverse; real inputs keep half of the result.

    Raises: SdyError SDY-X018 if the result type is not that of the transform.
    """
    lengths, fft_type = ints_of(op.fft_length), op.fft_type.data
    axes = tuple(range(-len(lengths), 0))
    dtype = dtype_of_type(op.result.type)
    if is_complex(dtype) == (fft_type is FftType.IRFFT):
        raise failure("SDY-X018", f"stablehlo.fft of type {fft_type.value} is not defined for a result of {dtype}")

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        (operand,) = arrays
        if fft_type is FftType.FFT:
            result = np.fft.fftn(operand, axes=axes)
        elif fft_type is FftType.IFFT:
            result = np.fft.ifftn(operand, axes=axes)
        elif fft_type is FftType.RFFT:
            result = np.fft.rfftn(operand, axes=axes)
        else:
            result = np.fft.irfftn(operand, s=lengths, axes=axes)
        return (result.astype(dtype, copy=False),)

    return kernel


@KERNELS.of(ops.SortOp)
def sort(op: ops.SortOp) -> Kernel:
    """Sort the inputs together along a dim by the comparator; the order is always stable."""
    comparator, count = op.comparator.block, operand_count(op)
    dim = op.dimension.value.data % max(rank_of(op.inputs[0]), 1)
    return lambda context, arrays: sorted_together(context, comparator, arrays[:count], dim, arrays[count:])


@KERNELS.of(ops.BatchNormTrainingOp)
def batch_norm_training(op: ops.BatchNormTrainingOp) -> Kernel:
    """Normalize by the mean and variance of the batch, and return both."""
    features = _Features(op)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, scale, offset = features.wide(arrays)
        mean, variance = features.moments(context, operand)
        normal = features.normalized(context, operand, mean, variance)
        output = np.add(np.multiply(normal, features.spread(context, scale)), features.spread(context, offset))
        return tuple(result.astype(arrays[0].dtype, copy=False) for result in (output, mean, variance))

    return kernel


@KERNELS.of(ops.BatchNormInferenceOp)
def batch_norm_inference(op: ops.BatchNormInferenceOp) -> Kernel:
    """Normalize by the mean and variance that are operands."""
    features = _Features(op)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, scale, offset, mean, variance = features.wide(arrays)
        normal = features.normalized(context, operand, mean, variance)
        output = np.add(np.multiply(normal, features.spread(context, scale)), features.spread(context, offset))
        return (output.astype(arrays[0].dtype, copy=False),)

    return kernel


@KERNELS.of(ops.BatchNormGradOp)
def batch_norm_grad(op: ops.BatchNormGradOp) -> Kernel:
    """Return the gradients of `batch_norm_training` for operand, scale and offset."""
    features = _Features(op)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, scale, mean, variance, grad_output = features.wide(arrays)
        normal = features.normalized(context, operand, mean, variance)
        grad_offset = features.summed(context, grad_output)
        grad_scale = features.summed(context, np.multiply(grad_output, normal))
        count = features.count(context, operand)
        centered = np.subtract(
            np.subtract(np.multiply(count, grad_output), features.spread(context, grad_offset)),
            np.multiply(normal, features.spread(context, grad_scale)),
        )
        deviation = np.sqrt(np.add(variance, features.epsilon))
        weight = np.divide(scale, np.multiply(count, deviation))
        grad_operand = np.multiply(features.spread(context, weight), centered)
        return tuple(grad.astype(arrays[0].dtype, copy=False) for grad in (grad_operand, grad_scale, grad_offset))

    return kernel


class _Features:
    """Means over all dims but the feature dim: the part that the batch normalizations share."""

    def __init__(self, op: ops.BatchNormOp) -> None:
        self.dim = op.feature_index.value.data
        self.rank = rank_of(op.operands[0])
        self.others = tuple(dim for dim in range(self.rank) if dim != self.dim)
        self.epsilon = np.array(op.epsilon.value.data, compute_dtype(dtype_of_type(op.operands[0].type)))

    def wide(self, arrays: Arrays) -> Arrays:
        return tuple(array.astype(compute_dtype(array.dtype), copy=False) for array in arrays)

    def spread(self, context: KernelContext, values: Array) -> Array:
        """Broadcast one value per feature along the feature dim."""
        local = tuple(values.shape[-1] if dim == self.dim else 1 for dim in range(self.rank))
        return values.reshape(context.leading(values) + local)

    def count(self, context: KernelContext, operand: Array) -> Array:
        sizes = context.local(operand)
        return np.array(np.prod([sizes[dim] for dim in self.others]), operand.dtype)

    def summed(self, context: KernelContext, array: Array) -> Array:
        return np.asarray(np.add.reduce(array, axis=context.dims(self.others), dtype=array.dtype))

    def moments(self, context: KernelContext, operand: Array) -> tuple[Array, Array]:
        count = self.count(context, operand)
        mean = np.divide(self.summed(context, operand), count)
        centered = np.subtract(operand, self.spread(context, mean))
        return mean, np.divide(self.summed(context, np.multiply(centered, centered)), count)

    def normalized(self, context: KernelContext, operand: Array, mean: Array, variance: Array) -> Array:
        deviation = np.sqrt(np.add(variance, self.epsilon))
        return np.divide(np.subtract(operand, self.spread(context, mean)), self.spread(context, deviation))
