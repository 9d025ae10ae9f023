"""Kernels of matrix ops: factorizations, Fourier transforms, sorting, batch normalization.

The comparator region of a sort is NumPy's order if it compares one input; else a sorting network runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Block, Operation

from sdy.dialects.stablehlo import linalg as ops
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection, ComparisonType, FftType, Transpose
from sdy.dialects.stablehlo.attributes.types import rank_of
from sdy.dialects.stablehlo.elementwise import AddOp, CompareOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import Array, DType, compute_dtype, dtype_of_type, is_complex, is_float
from sdy.interpreter.arrays.field_types import COMPLEX, conjugated, is_field, of_parts, parts_of
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.failure import failure
from sdy.interpreter.field import functions
from sdy.interpreter.field.folds import FieldFold
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, field_of, operand_count, with_unit_dims
from sdy.interpreter.ops.arithmetic import Compute, total_order_key
from sdy.model.shape import StaticShape

_IS_DESCENDING = {ComparisonDirection.LT: False, ComparisonDirection.GT: True}


def sorted_together(context: KernelContext, comparator: Block, inputs: Arrays, dim: int, captured: Arrays) -> Arrays:
    """Sort the inputs together along `dim`, stably: the comparator never holds of an element and one before it."""
    rows = tuple(np.moveaxis(array, context.rank + dim, -1) for array in context.aligned(inputs))
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


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The functions by which matrices are computed: of floats, or of numbers of a finite field."""

    add: Compute
    subtract: Compute
    multiply: Compute
    divide: Compute
    square_root: Compute
    matrix_product: Compute
    total: Callable[[Array, StaticShape], Array]  # of the elements along axes
    constant: Callable[[float, DType], Array]


def _total(array: Array, axes: StaticShape) -> Array:
    return np.asarray(np.add.reduce(array, axis=axes, dtype=array.dtype))


FLOATS = Arithmetic(np.add, np.subtract, np.multiply, np.divide, np.sqrt, np.matmul, _total, np.array)


def arithmetic_of(context: KernelContext, dtype: DType) -> Arithmetic:
    """Return the arithmetic of elements of a dtype."""
    if not is_field(dtype):
        return FLOATS
    field = field_of(context)
    add, subtract, multiply, divide = (
        partial(each, field) for each in (functions.add, functions.subtract, functions.multiply, functions.divide)
    )
    return Arithmetic(
        add,
        subtract,
        multiply,
        divide,
        square_root=partial(functions.hashed, "sqrt", field),
        matrix_product=partial(functions.elements_product, field),
        total=FieldFold(field, AddOp).reduced,
        constant=lambda number, _: of_parts(np.array(field.constant(number))),
    )


@KERNELS.of(ops.TriangularSolveOp)
def triangular_solve(op: ops.TriangularSolveOp) -> Kernel:
    """Solve op(a) x = b, or x op(a) = b. Only one triangle is read, without a unit diagonal."""
    left_side, lower = bool(op.left_side.value.data), bool(op.lower.value.data)
    unit_diagonal, transpose = bool(op.unit_diagonal.value.data), op.transpose_a.data

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        matrix, known = _wide(arrays)
        is_lower = lower
        if transpose in (Transpose.TRANSPOSE, Transpose.ADJOINT):
            is_lower = not is_lower
            matrix = adjoint(matrix) if transpose is Transpose.ADJOINT else transposed(matrix)
        if not left_side:
            # x a = b is a^T x^T = b^T.
            is_lower = not is_lower
            matrix, known = transposed(matrix), transposed(known)
        numbers = arithmetic_of(context, known.dtype)
        solution = substituted(matrix, known, numbers, is_lower=is_lower, unit_diagonal=unit_diagonal)
        return ((solution if left_side else transposed(solution)).astype(arrays[0].dtype, copy=False),)

    return kernel


def _wide(arrays: Arrays) -> Arrays:
    return tuple(array.astype(compute_dtype(array.dtype), copy=False) for array in arrays)


def substituted(
    matrix: Array, known: Array, numbers: Arithmetic = FLOATS, *, is_lower: bool, unit_diagonal: bool
) -> Array:
    """Solve matrix x = known by substitution, row by row for all matrices at once."""
    leading = np.broadcast_shapes(matrix.shape[:-2], known.shape[:-2])
    solution = np.zeros(leading + known.shape[-2:], known.dtype)
    size = matrix.shape[-1]
    for row in range(size) if is_lower else reversed(range(size)):
        others = slice(0, row) if is_lower else slice(row + 1, size)
        weighed = numbers.matrix_product(matrix[..., row : row + 1, others], solution[..., others, :])[..., 0, :]
        rest = numbers.subtract(known[..., row, :], weighed)
        solution[..., row, :] = rest if unit_diagonal else numbers.divide(rest, matrix[..., row, row, np.newaxis])
    return solution


def transposed(matrix: Array) -> Array:
    """Swap the last two dims."""
    return np.swapaxes(matrix, -1, -2)


def adjoint(matrix: Array) -> Array:
    """Return the complex conjugate of the transposed matrix."""
    turned = transposed(matrix)
    return conjugated(turned) if is_field(matrix.dtype) else np.conj(turned)


_TRANSFORMS = {FftType.FFT: np.fft.fftn, FftType.IFFT: np.fft.ifftn, FftType.RFFT: np.fft.rfftn}


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

    transform = partial(np.fft.irfftn, s=lengths) if fft_type is FftType.IRFFT else _TRANSFORMS[fft_type]

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        (operand,) = arrays
        return (transform(operand, axes=axes).astype(dtype, copy=False),)

    return kernel


@KERNELS.of(ops.SortOp)
def sort(op: ops.SortOp) -> Kernel:
    """Sort the inputs together along a dim by the comparator; the order is always stable."""
    comparator, count = op.comparator.block, operand_count(op)
    dim = op.dimension.value.data % max(rank_of(op.inputs[0]), 1)
    return lambda context, arrays: sorted_together(context, comparator, arrays[:count], dim, arrays[count:])


class _Features:
    """The parts that batch normalizations share: means over all dims but that of the features."""

    def __init__(self, op: ops.BatchNormOp, context: KernelContext, operand: Array) -> None:
        self.numbers = arithmetic_of(context, operand.dtype)
        self._context, self._operand = context, operand
        self._dim, self._rank = op.feature_index.value.data, rank_of(op.operands[0])
        self._others = context.dims([dim for dim in range(self._rank) if dim != self._dim])
        self._epsilon = self.numbers.constant(op.epsilon.value.data, operand.dtype)

    def spread(self, values: Array) -> Array:
        """Broadcast one value per feature along the feature dim."""
        local = tuple(values.shape[-1] if dim == self._dim else 1 for dim in range(self._rank))
        return values.reshape(self._context.leading(values) + local)

    def count(self) -> Array:
        sizes = [self._operand.shape[dim] for dim in self._others]
        return self.numbers.constant(float(prod(sizes)), self._operand.dtype)

    def summed(self, array: Array) -> Array:
        return self.numbers.total(array, self._others)

    def moments(self) -> tuple[Array, Array]:
        """Return the mean and the variance of each feature."""
        count = self.count()
        mean = self.numbers.divide(self.summed(self._operand), count)
        centered = self.numbers.subtract(self._operand, self.spread(mean))
        return mean, self.numbers.divide(self.summed(self.numbers.multiply(centered, centered)), count)

    def deviation(self, variance: Array) -> Array:
        return self.numbers.square_root(self.numbers.add(variance, self._epsilon))

    def normalized(self, mean: Array, variance: Array) -> Array:
        centered = self.numbers.subtract(self._operand, self.spread(mean))
        return self.numbers.divide(centered, self.spread(self.deviation(variance)))

    def scaled(self, normal: Array, scale: Array, offset: Array) -> Array:
        return self.numbers.add(self.numbers.multiply(normal, self.spread(scale)), self.spread(offset))


def _training(features: _Features, scale: Array, offset: Array) -> Arrays:
    """Normalize by the mean and variance of the batch, and return both."""
    mean, variance = features.moments()
    return features.scaled(features.normalized(mean, variance), scale, offset), mean, variance


def _inference(features: _Features, scale: Array, offset: Array, mean: Array, variance: Array) -> Arrays:
    """Normalize by the mean and variance that are operands."""
    return (features.scaled(features.normalized(mean, variance), scale, offset),)


def _gradients(features: _Features, scale: Array, mean: Array, variance: Array, gradient: Array) -> Arrays:
    """Return the gradients of the normalization in training for operand, scale and offset."""
    numbers, times = features.numbers, features.numbers.multiply
    normal = features.normalized(mean, variance)
    of_offset, of_scale = features.summed(gradient), features.summed(times(gradient, normal))
    count = features.count()
    centered = numbers.subtract(
        numbers.subtract(times(count, gradient), features.spread(of_offset)), times(normal, features.spread(of_scale))
    )
    weight = numbers.divide(scale, times(count, features.deviation(variance)))
    return times(features.spread(weight), centered), of_scale, of_offset


_BATCH_NORMS: dict[type[Operation], Callable[..., Arrays]] = {
    ops.BatchNormTrainingOp: _training,
    ops.BatchNormInferenceOp: _inference,
    ops.BatchNormGradOp: _gradients,
}


@KERNELS.of(ops.BatchNormTrainingOp, ops.BatchNormInferenceOp, ops.BatchNormGradOp)
def batch_norm(op: ops.BatchNormOp) -> Kernel:
    """Normalize each feature, or return the gradients of that."""
    formula = _BATCH_NORMS[type(op)]

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, *others = _wide(arrays)
        results = formula(_Features(op, context, operand), *others)
        return tuple(result.astype(arrays[0].dtype, copy=False) for result in results)

    return kernel
