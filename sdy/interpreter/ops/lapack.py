"""Kernels of the custom calls by which JAX hands matrices to LAPACK, for all matrices of a batch at the same time.

What a routine leaves of an operand that it destroys is not defined, and here the operand. Source: LAPACK's
documentation of the routines; the operands, results and options that `jax.numpy.linalg` lowers to on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr

from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.interpreter.element_types import Array
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext
from sdy.interpreter.ops.linalg import adjoint, lower_factor, substituted, transposed

Numbers = NDArray[np.float64]  # or narrower ones, or complex ones
Routine = Callable[..., Arrays]  # of the operands, which may have batch dims of size 1


def _option(op: CustomCallOp, name: str, default: str) -> str:
    """An option of the routine, a letter; JAX stores the number of its character."""
    config = op.attributes.get("mhlo.backend_config", op.backend_config)
    value = config.data.get(name) if isinstance(config, DictionaryAttr) else None
    return chr(value.value.data) if isinstance(value, IntegerAttr) else default


def _kernel(routine: Routine) -> Kernel:
    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        return routine(*cast(tuple[Numbers, ...], arrays))

    return kernel


def _cholesky(op: CustomCallOp) -> Kernel:
    """potrf: one triangle becomes the factor, the other stays. The first column without a positive pivot is told."""
    is_lower = _option(op, "uplo", "L") == "L"

    def routine(matrix: Numbers) -> Arrays:
        factor = lower_factor(matrix if is_lower else adjoint(matrix))
        pivots = np.real(np.diagonal(factor, axis1=-2, axis2=-1))
        inside = np.tril(np.ones(matrix.shape[-2:], bool))
        triangle, kept = (factor, inside) if is_lower else (adjoint(factor), inside.T)
        return np.where(kept, triangle, matrix), _first(np.logical_not(np.greater(pivots, 0)))

    return _kernel(routine)


def _first(failures: Array) -> Array:
    """The number, from 1, of the first entry along the last dim that is true, or 0."""
    return np.where(failures.any(-1), failures.argmax(-1) + 1, 0).astype(np.int32)


def _solve_triangular(op: CustomCallOp) -> Kernel:
    """trsm: x with op(a) x = b, or x op(a) = b."""
    is_lower, is_left = _option(op, "uplo", "L") == "L", _option(op, "side", "L") == "L"
    form, unit_diagonal = _option(op, "trans_x", "N"), _option(op, "diag", "N") == "U"

    def routine(matrix: Numbers, known: Numbers) -> Arrays:
        turned = matrix if form == "N" else adjoint(matrix) if form == "C" else transposed(matrix)
        lies_low = is_lower == (form == "N")
        if is_left:
            return (substituted(turned, known, is_lower=lies_low, unit_diagonal=unit_diagonal),)
        pair = transposed(turned), transposed(known)
        return (transposed(substituted(*pair, is_lower=not lies_low, unit_diagonal=unit_diagonal)),)

    return _kernel(routine)


def _factor_lu(matrix: Numbers) -> Arrays:
    """getrf: L and U in one matrix, the row that each row was exchanged with, and the first pivot that is zero."""
    factors, count = matrix.reshape(-1, *matrix.shape[-2:]).copy(), min(matrix.shape[-2:])
    each = np.arange(len(factors))
    exchanged = np.zeros((len(factors), count), np.int32)
    for place in range(count):
        column = factors[:, place:, place]
        row = place + (np.abs(np.real(column)) + np.abs(np.imag(column))).argmax(-1)
        exchanged[:, place] = row + 1
        factors[each, row], factors[:, place] = factors[:, place].copy(), factors[each, row]
        pivot = factors[:, place, place, np.newaxis]
        below = factors[:, place + 1 :, place]
        below[...] = np.where(pivot == 0, below, np.divide(below, pivot))
        rest = factors[:, place + 1 :, place + 1 :]
        rest -= below[:, :, np.newaxis] * factors[:, place, np.newaxis, place + 1 :]
    zeros = np.diagonal(factors, axis1=-2, axis2=-1) == 0
    batch = matrix.shape[:-2]
    return factors.reshape(matrix.shape), exchanged.reshape(*batch, count), _first(zeros).reshape(batch)


def _factor_qr(matrix: Numbers) -> Arrays:
    """geqrf: R, with the vectors of the reflections that make it below the diagonal, and their factors."""
    packed, factors = np.linalg.qr(matrix, mode="raw")
    return transposed(packed).astype(matrix.dtype), factors.astype(matrix.dtype)


def _multiply_reflections(packed: Numbers, factors: Numbers) -> Arrays:
    """orgqr: the first columns of the product of the reflections that geqrf packs."""
    rows, columns = packed.shape[-2:]
    batch = np.broadcast_shapes(packed.shape[:-2], factors.shape[:-1])
    product = np.broadcast_to(np.eye(rows, columns, dtype=packed.dtype), (*batch, rows, columns)).copy()
    for place in reversed(range(factors.shape[-1])):
        vector = packed[..., place:, place, np.newaxis].copy()
        vector[..., 0, :] = 1
        part = product[..., place:, :]
        part -= factors[..., place, np.newaxis, np.newaxis] * vector * np.matmul(adjoint(vector), part)
    return (product,)


def _eigenvectors(op: CustomCallOp) -> Kernel:
    """syevd and heevd: eigenvectors as columns, eigenvalues in ascending order; one triangle is read."""
    triangle = _option(op, "uplo", "L")

    def one(matrix: Numbers) -> Arrays:
        values, vectors = np.linalg.eigh(matrix, UPLO="L" if triangle == "L" else "U")
        return vectors, values

    return _kernel(partial(_with_failures, one))


def _singular_vectors(op: CustomCallOp) -> Kernel:
    """gesdd: the matrix, singular values in descending order, and the vectors on both sides, as the mode asks for."""
    mode = _option(op, "mode", "A")

    def one(matrix: Numbers) -> Arrays:
        left, values, right = np.linalg.svd(matrix, full_matrices=mode != "S")
        return matrix, values, left, right

    return _kernel(partial(_with_failures, one))


def _with_failures(one: Callable[[Numbers], Arrays], matrix: Numbers) -> Arrays:
    """What `one` gives of the matrices, and 0 for each; or NaN and 1 for those of which no solution is found."""
    try:
        return *one(matrix), np.zeros(matrix.shape[:-2], np.int32)
    except LinAlgError:
        if matrix.ndim == 2:
            found = one(np.eye(*matrix.shape, dtype=matrix.dtype))
            return *(np.full_like(result, np.nan) for result in found), np.ones((), np.int32)
    apart = [_with_failures(one, each) for each in matrix.reshape(-1, *matrix.shape[-2:])]
    batch = matrix.shape[:-2]
    return tuple(np.stack(results).reshape(*batch, *results[0].shape) for results in zip(*apart, strict=True))


ROUTINES: dict[str, Callable[[CustomCallOp], Kernel]] = {
    "potrf": _cholesky,
    "trsm": _solve_triangular,
    "getrf": lambda op: _kernel(_factor_lu),
    "geqrf": lambda op: _kernel(_factor_qr),
    "orgqr": lambda op: _kernel(_multiply_reflections),
    "ungqr": lambda op: _kernel(_multiply_reflections),
    "syevd": _eigenvectors,
    "heevd": _eigenvectors,
    "gesdd": _singular_vectors,
}
# By the name of the target: of a routine there is one for each element type.
CUSTOM_CALLS = {f"lapack_{letter}{name}_ffi": make for name, make in ROUTINES.items() for letter in "sdcz"}
