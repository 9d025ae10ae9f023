"""Kernels of contractions: dot, dot_general, einsum."""

from __future__ import annotations

from operator import le
from typing import cast

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from sdy.dialects.stablehlo import contraction as ops
from sdy.dialects.stablehlo.attributes.types import rank_of, shape_of
from sdy.interpreter.arrays.element_types import compute_dtype, dtype_of_type
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable
from sdy.interpreter.ops.contract import ContractedDims, contracted

KERNELS = KernelTable()


@KERNELS.of(ops.DotGeneralOp)
def dot_general(op: ops.DotGeneralOp) -> Kernel:
    """Contract; the result has batch dims, then free dims of lhs, then free dims of rhs."""
    return _contraction(op)


@KERNELS.of(ops.DotOp)
def dot(op: ops.DotOp) -> Kernel:
    """Contract the last dim of lhs with the first of rhs."""
    return _contraction(op)


def _contraction(op: ops.DotGeneralOp | ops.DotOp) -> Kernel:
    dims, dtype = contracted_dims(op), dtype_of_type(op.result.type)
    return lambda context, arrays: (contracted(context, arrays[0], arrays[1], dims, dtype),)


def contracted_dims(op: ops.DotGeneralOp | ops.DotOp) -> ContractedDims:
    """Return how the dims of the operands are paired."""
    if isinstance(op, ops.DotOp):
        return ContractedDims((), (), (rank_of(op.lhs) - 1,), (0,))
    numbers = op.dot_dimension_numbers.data
    return ContractedDims(
        numbers.lhs_batching_dimensions,
        numbers.rhs_batching_dimensions,
        numbers.lhs_contracting_dimensions,
        numbers.rhs_contracting_dimensions,
    )


@KERNELS.of(ops.EinsumOp)
def einsum(op: ops.EinsumOp) -> Kernel:
    """Multiply, and sum over the letters that the result lacks."""
    return _einsum(op, op.einsum_config.data)


@KERNELS.of(ops.UnaryEinsumOp)
def unary_einsum(op: ops.UnaryEinsumOp) -> Kernel:
    """Sum over the letters that the result lacks."""
    return _einsum(op, op.einsum_config.data)


def _einsum(op: Operation, config: str) -> Kernel:
    subscripts = einsum_subscripts(op, config)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        dtype = arrays[0].dtype
        # NumPy's stub lists only some dtypes; einsum accepts all.
        wide = [cast(NDArray[np.float64], array.astype(compute_dtype(dtype), copy=False)) for array in arrays]
        return (np.asarray(np.einsum(subscripts, *wide)).astype(dtype, copy=False),)

    return kernel


def einsum_subscripts(op: Operation, config: str) -> str:
    """Return NumPy's subscripts for those of the op. Raises: SdyError SDY-X018 if they do not fit the operands."""
    operands, arrow, result = config.replace(" ", "").partition("->")
    ranks = [len(shape_of(value)) for value in op.operands]
    counts = [len(letters.replace("...", "")) for letters in operands.split(",")]
    letters = (operands + result).replace("...", "").replace(",", "")
    is_valid = arrow and len(counts) == len(ranks) and all(map(le, counts, ranks)) and letters.isalpha()
    if not is_valid or not {*result} <= {*operands} or len({*result}) != len(result):
        raise failure("SDY-X018", f"expected letters for the dims, such as ab,bc->ac, got {config}")
    # NumPy's ellipsis represents the batch dims, which broadcast.
    return ",".join(f"...{letters}" for letters in operands.split(",")) + f"->...{result}"
