"""Custom calls of JAX on CPU, mostly LAPACK, compute the results of JAX on one device and on eight."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.lax import linalg as lax_linalg
from support.jax_programs.functions import sharding

import sdy
from sdy.cost.statistics import statistics_of
from sdy.diagnostics.diagnostic import SdyError
from sdy.interpreter.arrays.element_types import Array

Function = Callable[..., object]
RANDOM = np.random.default_rng(11)
REAL = RANDOM.standard_normal((4, 8, 8)).astype(np.float32)
# Condition numbers up to 35, and pivots off the diagonal. One of REAL is 2,900, where float32 keeps three digits.
INVERTIBLE = (REAL + 2 * np.eye(8)[::-1]).astype(np.float32)
COMPLEX = (REAL + 1j * RANDOM.standard_normal((4, 8, 8))).astype(np.complex64)
TALL = RANDOM.standard_normal((4, 8, 4)).astype(np.float32)
POSITIVE = REAL @ REAL.transpose(0, 2, 1) + 8 * np.eye(8, dtype=np.float32)
HERMITIAN = COMPLEX @ COMPLEX.conj().transpose(0, 2, 1) + 8 * np.eye(8, dtype=np.complex64)
INDEFINITE = np.where(np.arange(64).reshape(8, 8) == 27, -9, POSITIVE).astype(np.float32)  # the fourth on the diagonal
SINGULAR = np.where(np.arange(8) == 2, 0, REAL).astype(np.float32)


def summed(function: Function, *arguments: jax.Array) -> jax.Array:
    leaves = cast(list[jax.Array], jax.tree.leaves(function(*arguments)))
    return sum(map(jnp.sum, leaves), jnp.zeros(()))


def gradient(function: Function) -> Function:
    """Return the gradient of the sum of the results of a function."""
    return cast(Function, jax.grad(partial(summed, function)))


def solved(**options: bool) -> Function:
    return cast(Function, partial(lax_linalg.triangular_solve, **options))


def sizes_of_eigenvectors(a: jax.Array) -> jax.Array:
    return jnp.abs(cast(jax.Array, jnp.linalg.eigh(a)[1]))


def composed(a: jax.Array) -> jax.Array:
    left, values, right = jnp.linalg.svd(a, full_matrices=False)
    return (left * values[..., None, :]) @ right


def products(a: jax.Array) -> tuple[jax.Array, ...]:
    left, values, right = jnp.linalg.svd(a)
    return left @ left.mT, values, right @ right.mT


def sorted_eigenvalues(a: jax.Array) -> jax.Array:
    return jnp.sort(cast(jax.Array, jnp.linalg.eigvals(a)), axis=-1)


def residuals(a: jax.Array, *, left: bool = False) -> tuple[jax.Array, jax.Array]:
    """Return the residuals of the eigenvectors and their norms."""
    values, vectors = lax_linalg.eig(a, compute_left_eigenvectors=left, compute_right_eigenvectors=not left)
    moved = a.mT.conj() @ vectors if left else a @ vectors
    return moved - vectors * (values.conj() if left else values)[..., None, :], cast(
        jax.Array, jnp.linalg.norm(vectors, axis=-2)
    )


def tridiagonal(a: jax.Array, b: jax.Array) -> jax.Array:
    return lax_linalg.tridiagonal_solve(a[..., 1], a[..., 0] + 30, a[..., 2], b)


def times_q(a: jax.Array, c: jax.Array, *, left: bool, transpose: bool) -> jax.Array:
    packed, factors = jnp.linalg.qr(a, mode="raw")
    return lax_linalg.ormqr(packed.mT, factors, c, left=left, transpose=transpose)


def schur_products(a: jax.Array) -> tuple[jax.Array, ...]:
    """Return what does not depend on the order of eigenvalues: two products, and the part that must be zero."""
    form, vectors = lax_linalg.schur(a)
    below = jnp.tril(form, -1 if jnp.iscomplexobj(a) else -2)
    return vectors @ form @ vectors.mT.conj(), vectors @ vectors.mT.conj(), below


def products_of_forms(a: jax.Array) -> jax.Array:
    """Return products of neighbours below the diagonal, of which one is zero, since blocks have two rows."""
    form, _ = lax_linalg.schur(a)
    below = cast(jax.Array, jnp.diagonal(form, -1, axis1=-2, axis2=-1))
    return below[..., 1:] * below[..., :-1]


CASES: dict[str, tuple[Function, tuple[Array, ...]]] = {
    "cholesky": (jnp.linalg.cholesky, (POSITIVE,)),
    "cholesky, upper": (partial(jnp.linalg.cholesky, upper=True), (POSITIVE,)),
    "cholesky, complex": (jnp.linalg.cholesky, (HERMITIAN,)),
    "cholesky, not positive definite": (jnp.linalg.cholesky, (INDEFINITE,)),
    "cholesky, empty": (jnp.linalg.cholesky, (POSITIVE[:, :0, :0],)),
    "gradient of cholesky": (gradient(jnp.linalg.cholesky), (POSITIVE,)),
    "lower": (solved(left_side=True, lower=True), (POSITIVE, TALL)),
    "upper": (solved(left_side=True, lower=False), (POSITIVE, TALL)),
    "transposed": (solved(left_side=True, lower=True, transpose_a=True), (POSITIVE, TALL)),
    "adjoint": (solved(left_side=True, lower=False, transpose_a=True, conjugate_a=True), (HERMITIAN, COMPLEX)),
    "right side": (solved(lower=False), (POSITIVE, REAL)),
    "right side, transposed, unit diagonal": (
        solved(lower=True, transpose_a=True, unit_diagonal=True),
        (POSITIVE, REAL),
    ),
    "LU": (lax_linalg.lu, (REAL,)),
    "LU, tall": (lax_linalg.lu, (TALL,)),
    "LU, wide": (lax_linalg.lu, (TALL.transpose(0, 2, 1),)),
    "LU, complex": (lax_linalg.lu, (COMPLEX,)),
    "LU, singular": (lax_linalg.lu, (SINGULAR,)),
    "solve": (jnp.linalg.solve, (INVERTIBLE, TALL)),
    "gradient of solve": (gradient(jnp.linalg.solve), (POSITIVE, TALL)),
    "inverse": (jnp.linalg.inv, (INVERTIBLE,)),
    "QR": (jnp.linalg.qr, (TALL,)),
    "QR, complete": (partial(jnp.linalg.qr, mode="complete"), (TALL,)),
    "QR, complex": (jnp.linalg.qr, (COMPLEX,)),
    "Q times a matrix": (partial(times_q, left=True, transpose=False), (REAL, TALL)),
    "adjoint of Q times a matrix": (partial(times_q, left=True, transpose=True), (COMPLEX, COMPLEX)),
    "matrix times Q": (partial(times_q, left=False, transpose=False), (REAL, TALL.transpose(0, 2, 1))),
    "matrix times the adjoint of Q": (partial(times_q, left=False, transpose=True), (COMPLEX, COMPLEX)),
    "Schur form": (schur_products, (REAL,)),
    "Schur form, symmetric": (schur_products, (POSITIVE,)),
    "Schur form, complex": (schur_products, (COMPLEX,)),
    "blocks of the Schur form": (products_of_forms, (REAL,)),
    "Schur form of NaN": (schur_products, (np.where(np.arange(4)[:, None, None] == 1, np.nan, REAL),)),
    "eigenvalues": (jnp.linalg.eigvalsh, (POSITIVE,)),
    "eigenvectors, up to sign": (sizes_of_eigenvectors, (HERMITIAN,)),
    "eigenvalues of NaN": (
        jnp.linalg.eigvalsh,
        (np.where(np.arange(4)[:, None, None] == 1, np.nan, POSITIVE),),
    ),
    "singular values": (partial(jnp.linalg.svd, compute_uv=False), (TALL,)),
    "singular values of wide matrices": (
        partial(lax_linalg.svd, full_matrices=False, compute_uv=False),
        (TALL.transpose(0, 2, 1),),
    ),
    "product of singular vectors": (composed, (TALL,)),
    "singular vectors, all": (products, (TALL,)),
    "eigenvalues of any matrix": (sorted_eigenvalues, (REAL,)),
    "eigenvectors of any matrix": (residuals, (COMPLEX,)),
    "eigenvectors of empty matrices": (lax_linalg.eig, (REAL[:, :0, :0],)),
    "eigenvectors from the left": (partial(residuals, left=True), (REAL,)),
    "tridiagonal": (tridiagonal, (POSITIVE, TALL)),
    "approximate top k": (partial(lax.approx_max_k, k=3), (TALL,)),
    "approximate smallest rows": (partial(lax.approx_min_k, k=3, reduction_dimension=1), (TALL,)),
    "pseudoinverse": (jnp.linalg.pinv, (TALL,)),
}


def assert_close(actual: object, expected: object) -> None:
    for ours, theirs in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        ours, theirs = np.asarray(cast(jax.Array, ours)), np.asarray(cast(jax.Array, theirs))
        assert ours.dtype == theirs.dtype
        scale = np.nanmax(np.abs(theirs), initial=1)
        np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_jax(name: str) -> None:
    function, arguments = CASES[name]
    expected = cast(object, jax.jit(function)(*arguments))
    assert_close(sdy.from_jax(function, *arguments).run(*arguments), expected)
    for entries in (("y",), (None, "x", "y"), ("x", None, "y")):
        inputs = [jax.device_put(argument, sharding(*entries)) for argument in arguments]
        assert_close(sdy.from_jax(function, *inputs).partition().run(*inputs), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("@lapack_spotrf_ffi(%a, %a)", "expected 1 operands for @lapack_spotrf_ffi, got 2"),
        ("@lapack_sgtsv_ffi(%a, %a, %a, %b)", "the shapes of the operands do not match"),
        ("@lapack_spotrf_ffi(%b)", "expected results of the shapes [(2, 2), ()], but @lapack_spotrf_ffi returns"),
        ("@ApproxTopK(%a, %b)", "@ApproxTopK needs a reduction_dim and a comparator"),
    ],
)
def test_invalid_operands_of_a_custom_call_are_an_error(call: str, message: str) -> None:
    operands = ", ".join({"a": "tensor<2x2xf32>", "b": "tensor<3x2xf32>"}[name] for name in re.findall("%([ab])", call))
    text = f"""
func.func @main(%a: tensor<2x2xf32>, %b: tensor<3x2xf32>) -> tensor<2x2xf32> {{
  %0:2 = stablehlo.custom_call {call} : ({operands}) -> (tensor<2x2xf32>, tensor<i32>)
  return %0#0 : tensor<2x2xf32>
}}"""
    with pytest.raises(SdyError, match=re.escape(message)) as raised:
        sdy.interpret(sdy.Program.from_text(text), [REAL[0, :2, :2], REAL[0, :3, :2]])
    assert raised.value.diagnostics[0].code == "SDY-X108"


def test_batched_solve_needs_no_communication() -> None:
    function, arguments = CASES["solve"]
    inputs = [jax.device_put(argument, sharding("y")) for argument in arguments]
    partitioned = sdy.from_jax(function, *inputs).partition()
    assert statistics_of(partitioned.local).bytes_sent == 0
