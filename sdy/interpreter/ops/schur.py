"""The Schur form of matrices, which NumPy does not have.

A matrix is `q t q^H` with a unitary `q`. `t` is upper triangular if the elements are complex. If they are real, `t` has
a block of two rows for each pair of conjugate eigenvalues, with equal elements on the diagonal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdy.interpreter.arrays.element_types import is_complex

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
