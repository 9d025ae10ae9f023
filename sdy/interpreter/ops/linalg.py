"""Kernels of matrix ops: factorizations, Fourier transforms, sorting, batch normalization."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sdy.dialects.stablehlo import linalg as ops
from sdy.dialects.stablehlo.attributes.enums import FftType, Transpose
from sdy.dialects.stablehlo.attributes.types import rank_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import Array, compute_dtype, dtype_of_type, is_complex
from sdy.interpreter.arrays.field_types import conjugated, is_field
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, operand_count
from sdy.interpreter.ops.sorting import sorted_together

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
