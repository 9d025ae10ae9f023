"""Kernels of the LAPACK custom calls of JAX, for all matrices of a batch at once.

The content of an operand that a routine overwrites is undefined; here it stays unchanged. Source: LAPACK's
documentation of the routines; the operands, results and options that `jax.numpy.linalg` lowers to on a CPU. NumPy has
no Schur form, so it is computed here: a matrix is `q t q^H` with a unitary `q`. `t` is upper triangular if the elements
are complex. If they are real, `t` has a block of two rows for each pair of conjugate eigenvalues, with equal elements
on the diagonal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from xdsl.dialects.builtin import IntegerAttr

from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.calls import CustomCallOp, backend_config_of
from sdy.interpreter.arrays.element_types import Array, dtype_of_type, is_complex
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext
from sdy.interpreter.ops.linalg import adjoint, lower_factor, substituted, transposed

Numbers = NDArray[np.float64]  # or narrower ones, or complex ones


def schur(matrix: Numbers) -> tuple[Numbers, Numbers]:
    """Return the Schur form of each matrix of a batch, and its vectors.

    Eigenvalues are separated one by one: an orthonormal basis that begins with an eigenvector, or with a basis of the
    plane of a pair of conjugate ones, leaves a smaller matrix.
    Raises: LinAlgError if the eigenvalues do not converge.
    """
    forms, all_vectors = (
        matrix.copy(),
        np.broadcast_to(np.eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape).copy(),
    )
    for batch in np.ndindex(matrix.shape[:-2]):
        _separate_all(forms[batch], all_vectors[batch])
    return forms, all_vectors


def _separate_all(form: Numbers, vectors: Numbers) -> None:
    """Replace a matrix by its Schur form, and the identity by the vectors."""
    start, size = 0, len(form)
    while start < size - 1:
        basis = _invariant_basis(form[start:, start:])
        complete, _ = np.linalg.qr(basis, mode="complete")
        complete = complete.astype(form.dtype)
        form[:, start:] = form[:, start:] @ complete
        form[start:] = complete.conj().T @ form[start:]
        vectors[:, start:] = vectors[:, start:] @ complete
        width = basis.shape[1]
        form[start + width :, start : start + width] = 0
        if width == 2:
            _equalize_diagonal(form, vectors, start)
        start += width


def _invariant_basis(matrix: Numbers) -> Numbers:
    """Return an eigenvector, or the real and imaginary parts of one of a pair of conjugate eigenvalues, as columns."""
    values, vectors = np.linalg.eig(matrix)
    if is_complex(matrix.dtype):
        return vectors[:, :1]
    first = vectors[:, 0]
    parts = np.stack([np.real(first), np.imag(first)], axis=1)
    return parts[:, :1] if np.imag(values[0]) == 0 else parts


def _equalize_diagonal(form: Numbers, vectors: Numbers, start: int) -> None:
    """Rotate a block of two rows so that the elements on its diagonal are equal."""
    (a, b), (c, d) = form[start : start + 2, start : start + 2]
    angle = np.arctan2(d - a, b + c) / 2
    cosine, sine = np.cos(angle), np.sin(angle)
    turn = np.array([[cosine, -sine], [sine, cosine]], form.dtype)
    both = slice(start, start + 2)
    form[:, both] = form[:, both] @ turn
    form[both] = turn.T @ form[both]
    vectors[:, both] = vectors[:, both] @ turn


def eigenvalues_of_schur_form(form: Numbers) -> NDArray[np.complex128]:
    """Return the eigenvalues in the order of the diagonal; those of a block have a positive imaginary part first."""
    values = np.diagonal(form, axis1=-2, axis2=-1).astype(np.complex128)
    below = np.diagonal(form, -1, axis1=-2, axis2=-1)
    products = below * np.diagonal(form, 1, axis1=-2, axis2=-1)
    sizes = np.sqrt(np.where(below == 0, 0, np.abs(products)))
    values[..., :-1] += 1j * sizes
    values[..., 1:] -= 1j * sizes
    return values


Routine = Callable[..., Arrays]  # its operands may have batch dims of size 1


def _option(op: CustomCallOp, name: str, default: str) -> str:
    """Return an option of the routine, a letter; JAX stores its character code."""
    value = backend_config_of(op).get(name)
    return chr(value.value.data) if isinstance(value, IntegerAttr) else default


def _kernel(op: CustomCallOp, routine: Routine) -> Kernel:
    """Return the kernel of a routine, which checks operands and results: custom calls are not verified."""
    shapes = [static_shape(result.type) for result in op.results]

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        try:
            results = routine(*cast(tuple[Numbers, ...], arrays))
        except ValueError as error:
            raise failure("SDY-X108", f"the shapes of the operands do not match: {error}") from None
        found = [context.local(result) for result in results]
        if found != shapes:
            target = op.call_target_name.data
            raise failure("SDY-X108", f"expected results of the shapes {shapes}, but @{target} returns {found}")
        return results

    return kernel


def _cholesky(op: CustomCallOp) -> Kernel:
    """potrf: replace one triangle by the factor; also return the first column without a positive pivot, or 0."""
    is_lower = _option(op, "uplo", "L") == "L"

    def routine(matrix: Numbers) -> Arrays:
        factor = lower_factor(matrix if is_lower else adjoint(matrix))
        pivots = np.real(np.diagonal(factor, axis1=-2, axis2=-1))
        inside = np.tril(np.ones(matrix.shape[-2:], bool))
        triangle, kept = (factor, inside) if is_lower else (adjoint(factor), inside.T)
        return np.where(kept, triangle, matrix), _first(np.logical_not(np.greater(pivots, 0)))

    return _kernel(op, routine)


def _first(failures: Array) -> Array:
    """Return the number, from 1, of the first true entry along the last dim, or 0."""
    before = np.logical_not(np.logical_or.accumulate(failures, axis=-1)).sum(-1)
    return np.where(failures.any(-1), before + 1, 0).astype(np.int32)


def _solve_triangular(op: CustomCallOp) -> Kernel:
    """trsm: solve op(a) x = b, or x op(a) = b."""
    is_lower, is_left = _option(op, "uplo", "L") == "L", _option(op, "side", "L") == "L"
    form, unit_diagonal = _option(op, "trans_x", "N"), _option(op, "diag", "N") == "U"

    def routine(matrix: Numbers, known: Numbers) -> Arrays:
        turned = matrix if form == "N" else adjoint(matrix) if form == "C" else transposed(matrix)
        lies_low = is_lower == (form == "N")
        if is_left:
            return (substituted(turned, known, is_lower=lies_low, unit_diagonal=unit_diagonal),)
        pair = transposed(turned), transposed(known)
        return (transposed(substituted(*pair, is_lower=not lies_low, unit_diagonal=unit_diagonal)),)

    return _kernel(op, routine)


def _factor_lu(matrix: Numbers) -> Arrays:
    """getrf: return L and U in one matrix, the row that each row was swapped with, and the first zero pivot, or 0."""
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
    """geqrf: return R with the Householder vectors below the diagonal, and their factors."""
    packed, factors = np.linalg.qr(matrix, mode="raw")
    return transposed(packed).astype(matrix.dtype), factors.astype(matrix.dtype)


def _multiply_reflections(packed: Numbers, factors: Numbers) -> Arrays:
    """orgqr: return the first columns of the product Q of the Householder reflections of geqrf."""
    rows, columns = packed.shape[-2:]
    batch = np.broadcast_shapes(packed.shape[:-2], factors.shape[:-1])
    return (
        _reflected(
            packed, factors, np.broadcast_to(np.eye(rows, columns, dtype=packed.dtype), (*batch, rows, columns))
        ),
    )


def _multiply_by_reflections(op: CustomCallOp) -> Kernel:
    """ormqr: return the product of a matrix with Q, or with its adjoint, on the left or on the right."""
    is_left, is_adjoint = _flag(op, "left", default=True), _flag(op, "transpose", default=False)

    def routine(packed: Numbers, factors: Numbers, matrix: Numbers) -> Arrays:
        if is_left:
            return (_reflected(packed, factors, matrix, is_adjoint=is_adjoint),)
        turned = cast(Numbers, adjoint(matrix))
        return (adjoint(_reflected(packed, factors, turned, is_adjoint=not is_adjoint)),)

    return _kernel(op, routine)


def _flag(op: CustomCallOp, name: str, *, default: bool) -> bool:
    """Return an option of the routine that is true or false."""
    value = backend_config_of(op).get(name)
    return bool(value.value.data) if isinstance(value, IntegerAttr) else default


def _reflected(packed: Numbers, factors: Numbers, matrix: Numbers, *, is_adjoint: bool = False) -> Numbers:
    """Return the product of Q, or of its adjoint, with a matrix."""
    batch = np.broadcast_shapes(packed.shape[:-2], factors.shape[:-1], matrix.shape[:-2])
    product = np.broadcast_to(matrix, (*batch, *matrix.shape[-2:])).copy()
    places = range(factors.shape[-1])
    for place in places if is_adjoint else reversed(places):
        vector = packed[..., place:, place, np.newaxis].copy()
        vector[..., 0, :] = 1
        factor = factors[..., place, np.newaxis, np.newaxis]
        part = product[..., place:, :]
        part -= (factor.conj() if is_adjoint else factor) * vector * np.matmul(adjoint(vector), part)
    return product


def _eigenvectors(op: CustomCallOp) -> Kernel:
    """syevd and heevd: return eigenvectors as columns, eigenvalues in ascending order; one triangle is read."""
    triangle = _option(op, "uplo", "L")

    def one(matrix: Numbers) -> Arrays:
        values, vectors = np.linalg.eigh(matrix, UPLO="L" if triangle == "L" else "U")
        return vectors, values

    return _kernel(op, partial(_with_failures, one))


def _singular_vectors(op: CustomCallOp) -> Kernel:
    """gesdd: return the matrix, singular values in descending order, and left and right vectors as the mode says.

    In mode N the vectors have no meaning, and as many columns and rows as the results of the call.
    """
    mode = _option(op, "mode", "A")
    sizes = [shape or () for shape in (static_shape(result.type) for result in op.results[2:4])]
    are_square = all(shape[-1:] == shape[-2:-1] for shape in sizes)

    def one(matrix: Numbers) -> Arrays:
        left, values, right = np.linalg.svd(matrix, full_matrices=mode == "A" or (mode == "N" and are_square))
        return matrix, values, left, right

    return _kernel(op, partial(_with_failures, one))


def _eigenvectors_of_any(op: CustomCallOp) -> Kernel:
    """geev: return eigenvalues (real and imaginary parts for real matrices), left and right eigenvectors."""
    is_left = _option(op, "compute_left", "N") == "V"

    def one(matrix: Numbers) -> Arrays:
        values, right = np.linalg.eig(matrix)
        left = _normalized(adjoint(np.linalg.inv(right))) if is_left else right
        parts = (values,) if is_complex(matrix.dtype) else (np.real(values), np.imag(values))
        return *parts, left, right

    dtypes = [dtype_of_type(result.type) for result in op.results]

    def routine(matrix: Numbers) -> Arrays:
        results = _with_failures(one, matrix)
        return tuple(result.astype(dtype) for result, dtype in zip(results, dtypes, strict=True))

    return _kernel(op, routine)


def _schur_form(op: CustomCallOp) -> Kernel:
    """gees: return the Schur form, the vectors, the eigenvalues on its diagonal, and how many of them are sorted: 0."""

    def one(matrix: Numbers) -> Arrays:
        form, vectors = schur(matrix)
        values = eigenvalues_of_schur_form(form)
        return form, vectors, *((values,) if is_complex(matrix.dtype) else (np.real(values), np.imag(values)))

    dtypes = [dtype_of_type(result.type) for result in op.results]

    def routine(matrix: Numbers) -> Arrays:
        *results, failures = _with_failures(one, matrix)
        every = (*results, np.zeros_like(failures), failures)
        return tuple(result.astype(dtype) for result, dtype in zip(every, dtypes, strict=True))

    return _kernel(op, routine)


def _normalized(vectors: Array) -> Array:
    """Return columns of length one with a real largest entry."""
    if not vectors.size:
        return vectors
    sizes = np.abs(vectors)
    largest = np.take_along_axis(vectors, sizes.argmax(-2, keepdims=True), -2)
    phases = np.divide(largest, np.abs(largest))
    return np.divide(vectors, np.multiply(phases, np.linalg.norm(sizes, axis=-2, keepdims=True)))


def _solve_tridiagonal(below: Numbers, diagonal: Numbers, above: Numbers, known: Numbers) -> Arrays:
    """gtsv: solve a x = b. The first entry below and the last one above the diagonal are outside the matrix."""
    size = diagonal.shape[-1]
    rows = np.arange(size, dtype=np.int64)
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in (below, diagonal, above)), known.shape[:-2])
    both = np.zeros((*batch, size, size + known.shape[-1]), known.dtype)  # a and b side by side
    both[..., rows, rows] = diagonal
    both[..., rows[1:], rows[:-1]] = below[..., 1:]
    both[..., rows[:-1], rows[1:]] = above[..., :-1]
    both[..., size:] = known
    solution, failures = _with_failures(lambda pair: (np.linalg.solve(pair[..., :size], pair[..., size:]),), both)
    return below, diagonal, above, solution, failures


def _with_failures(one: Callable[[Numbers], Arrays], matrix: Numbers) -> Arrays:
    """Return the results of `one` and 0 for each matrix; NaN and 1 for those without a solution."""
    try:
        return *one(matrix), np.zeros(matrix.shape[:-2], np.int32)
    except LinAlgError:
        if matrix.ndim == 2:
            found = one(np.eye(*matrix.shape, dtype=matrix.dtype))
            return *(np.full_like(result, np.nan) for result in found), np.ones((), np.int32)
    apart = [_with_failures(one, each) for each in matrix.reshape(-1, *matrix.shape[-2:])]
    batch = matrix.shape[:-2]
    return tuple(np.stack(results).reshape(*batch, *results[0].shape) for results in zip(*apart, strict=True))


# The number of operands of each routine, and its kernel.
ROUTINES: dict[str, tuple[int, Callable[[CustomCallOp], Kernel]]] = {
    "potrf": (1, _cholesky),
    "trsm": (2, _solve_triangular),
    "getrf": (1, lambda op: _kernel(op, _factor_lu)),
    "geqrf": (1, lambda op: _kernel(op, _factor_qr)),
    "orgqr": (2, lambda op: _kernel(op, _multiply_reflections)),
    "ungqr": (2, lambda op: _kernel(op, _multiply_reflections)),
    "ormqr": (3, _multiply_by_reflections),
    "unmqr": (3, _multiply_by_reflections),
    "syevd": (1, _eigenvectors),
    "heevd": (1, _eigenvectors),
    "gesdd": (1, _singular_vectors),
    "geev": (1, _eigenvectors_of_any),
    "gees": (1, _schur_form),
    "gtsv": (4, lambda op: _kernel(op, _solve_tridiagonal)),
}


def lapack_call(op: CustomCallOp) -> Kernel | None:
    """Return the kernel of a LAPACK routine; None if the target is not one.

    Raises: SdyError SDY-X108 if the number of operands is wrong.
    """
    target = op.call_target_name.data
    match = _TARGET.fullmatch(target)
    if match is None or match["routine"] not in ROUTINES:
        return None
    count, make = ROUTINES[match["routine"]]
    if len(op.operands) != count:
        raise failure("SDY-X108", f"expected {count} operands for @{target}, got {len(op.operands)}")
    return make(op)


_TARGET = re.compile("lapack_[sdcz](?P<routine>[a-z]+)_ffi")
