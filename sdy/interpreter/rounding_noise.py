"""Random rounding: shows which results of a program depend on the order in which its sums are added.

Two programs that add the same terms in different orders round differently. If the terms change at random by a unit in
the last place, the results vary as much as they do between such programs.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.chlo.structured import RaggedDotOp
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.calls import CustomCallOp, is_lapack_call
from sdy.dialects.stablehlo.collectives import AllReduceOp, CollectiveReduceOp, ReduceScatterOp
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.dialects.stablehlo.elementwise import AddOp, MultiplyOp
from sdy.dialects.stablehlo.gather_scatter import ScatterOp
from sdy.dialects.stablehlo.linalg import (
    BatchNormGradOp,
    BatchNormTrainingOp,
    CholeskyOp,
    FftOp,
    TriangularSolveOp,
)
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.window import ConvolutionOp, DynamicConvOp, ReduceWindowOp, SelectAndScatterOp
from sdy.interpreter.arrays.element_types import Array, compute_dtype, is_complex, is_float
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext

_SUMS = frozenset(
    {
        BatchNormGradOp,
        BatchNormTrainingOp,
        CholeskyOp,
        ConvolutionOp,
        DotGeneralOp,
        DotOp,
        DynamicConvOp,
        FftOp,
        RaggedDotOp,
        TriangularSolveOp,
    }
)
_REDUCTIONS = frozenset(
    {
        AllReduceOp,
        CollectiveReduceOp,
        ReduceOp,
        ReduceScatterOp,
        ReduceWindowOp,
        ScatterOp,
        SelectAndScatterOp,
    }
)


class RoundingNoise:
    """Changes each term and the result of a sum or product at random by `relative` times its size, up or down."""

    def __init__(self, seed: int, relative: float = np.finfo(np.float64).eps) -> None:
        self._random = np.random.default_rng(seed)
        self._relative = relative

    def around(self, op: Operation, kernel: Kernel) -> Kernel:
        """Return the kernel with changed operands and results if the op adds or multiplies many terms."""
        if not _is_sum(op):
            return kernel

        def noisy(context: KernelContext, arrays: Arrays) -> Arrays:
            results = kernel(context, tuple(map(self._changed, arrays)))
            return tuple(map(self._changed, results))

        return noisy

    def _changed(self, array: Array) -> Array:
        if not (is_float(array.dtype) or is_complex(array.dtype)):
            return array
        dtype = compute_dtype(array.dtype)
        signs = self._random.integers(0, 2, array.shape, np.int8) * 2 - 1
        factors = np.asarray(1 + self._relative * signs, dtype)
        return np.multiply(array, factors, dtype=dtype).astype(array.dtype)


def _is_sum(op: Operation) -> bool:
    if type(op) in _REDUCTIONS:  # a maximum does not depend on the order
        return any(isinstance(inner, AddOp | MultiplyOp) for inner in pre_order(op))
    return type(op) in _SUMS or (isinstance(op, CustomCallOp) and is_lapack_call(op))
