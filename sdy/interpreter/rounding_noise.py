"""Random rounding: shows which results of a program depend on the order in which its sums are added.

Two programs that add the same terms in different orders round differently, and so does everything that they compute
from these sums. If each op rounds at random, the results vary as much as they do between such programs.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from sdy.dialects.facts.traits import Contraction, has_fact, has_region_on_elements
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.calls import CustomCallOp, is_lapack_call
from sdy.dialects.stablehlo.elementwise import (
    AccuracyOp,
    AddOp,
    Atan2Op,
    DivideOp,
    MultiplyOp,
    PowerOp,
    SubtractOp,
)
from sdy.dialects.stablehlo.linalg import (
    BatchNormGradOp,
    BatchNormTrainingOp,
    CholeskyOp,
    FftOp,
    SortOp,
    TriangularSolveOp,
)
from sdy.interpreter.arrays.element_types import Array, compute_dtype, is_complex, is_float
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext

# Ops of many sums and products, whose sizes only the results show.
_FACTORIZATIONS = frozenset({BatchNormGradOp, BatchNormTrainingOp, CholeskyOp, FftOp, TriangularSolveOp})
# Elementwise ops that round; the others are exact.
_ELEMENTWISE = (AccuracyOp, AddOp, Atan2Op, DivideOp, MultiplyOp, PowerOp, SubtractOp)


class RoundingNoise:
    """Changes the result of each op that rounds at random by `relative` times its size, up or down.

    The terms of a sum or product change too. Its result changes in proportion to the sum of the sizes of its terms,
    since partial sums are as large even if the result is small, and to the root of the number of terms, since each
    addition rounds. Integers, which are mostly exact, do not change.
    """

    def __init__(self, seed: int, relative: float = np.finfo(np.float64).eps) -> None:
        self._random = np.random.default_rng(seed)
        self._relative = relative

    def around(self, op: Operation, kernel: Kernel) -> Kernel:
        """Return the kernel with changed results, and changed operands if the op adds or multiplies many terms."""
        has_terms = _is_sum(op)
        if not (has_terms or isinstance(op, _ELEMENTWISE)):
            return kernel

        def noisy(context: KernelContext, arrays: Arrays) -> Arrays:
            terms = tuple(map(self._changed, arrays, arrays)) if has_terms else arrays
            results = kernel(context, terms)
            sizes = _sizes(kernel, context, arrays) if has_terms and not _is_factorization(op) else results
            return tuple(map(self._changed, results, sizes))

        return noisy

    def _changed(self, array: Array, sizes: Array) -> Array:
        """Return `array` with `relative` times `sizes` added or subtracted."""
        if not _is_inexact(array):
            return array
        dtype = compute_dtype(array.dtype)
        wide = np.array(array, dtype)  # a copy, which changes in place
        with np.errstate(invalid="ignore"):  # infinities do not change
            noise = np.asarray(np.multiply(sizes, self._relative, dtype=dtype))
        is_down = self._random_bits(array.size).reshape(array.shape)
        np.negative(noise, out=noise, where=is_down)
        changes = np.isfinite(noise) & (wide != np.rint(wide))
        return np.add(wide, noise, out=wide, where=changes).astype(array.dtype, copy=False)

    def _random_bits(self, count: int) -> npt.NDArray[np.bool_]:
        drawn = np.frombuffer(self._random.bytes(-(-count // 8)), np.uint8)  # eight bits at a time
        return np.unpackbits(drawn, count=count).astype(np.bool_)


def _sizes(kernel: Kernel, context: KernelContext, arrays: Arrays) -> Arrays:
    """Return the sums of the sizes of all terms, times the root of the number of terms.

    That number is estimated as the elements of the largest operand for each element of the result.
    """
    operand = max(array.size for array in arrays)
    sums = kernel(context, tuple(map(_size, arrays)))
    return tuple(np.multiply(each, math.sqrt(max(1.0, operand / max(1, each.size)))) for each in sums)


def _is_inexact(array: Array) -> bool:
    return is_float(array.dtype) or is_complex(array.dtype)


def _size(array: Array) -> Array:
    return np.abs(array).astype(array.dtype) if _is_inexact(array) else array


def _is_factorization(op: Operation) -> bool:
    return type(op) in _FACTORIZATIONS or (isinstance(op, CustomCallOp) and is_lapack_call(op))


def _is_sum(op: Operation) -> bool:
    if has_region_on_elements(op) and not isinstance(op, SortOp):  # a maximum does not depend on the order
        return any(isinstance(inner, AddOp | MultiplyOp) for inner in pre_order(op))
    return has_fact(type(op), Contraction) or _is_factorization(op)
