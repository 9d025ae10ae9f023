from __future__ import annotations

import numpy as np
import pytest
from support.execution.run_text import f32, i32, run_op, run_ops

RANDOM = np.random.default_rng(0)
COMPLEX = RANDOM.normal(size=(2, 4, 4)) + 1j * RANDOM.normal(size=(2, 4, 4))
POSITIVE = COMPLEX @ np.conj(np.swapaxes(COMPLEX, -1, -2)) + np.eye(4)


@pytest.mark.parametrize("lower", ["true", "false"])
def test_cholesky_reads_one_triangle(lower: str) -> None:
    kind = "tensor<2x4x4xcomplex<f64>>"
    keep = np.tril if lower == "true" else np.triu
    factor = run_op(f"stablehlo.cholesky %a, lower = {lower} : {kind}", kind, a=keep(POSITIVE))
    expected = np.linalg.cholesky(POSITIVE)
    assert np.allclose(factor, expected if lower == "true" else np.conj(np.swapaxes(expected, -1, -2)))


def test_a_matrix_that_is_not_positive_gives_nan() -> None:
    factor = run_op("stablehlo.cholesky %a, lower = true : tensor<1x1xf32>", "tensor<1x1xf32>", a=f32(-1).reshape(1, 1))
    assert np.isnan(factor).all()


@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("left_side", [True, False])
@pytest.mark.parametrize("unit_diagonal", [True, False])
def test_triangular_solve(transpose: str, lower: bool, left_side: bool, unit_diagonal: bool) -> None:
    words = {True: "true", False: "false"}
    attributes = (
        f"left_side = {words[left_side]}, lower = {words[lower]}, unit_diagonal = {words[unit_diagonal]}, "
        f"transpose_a = #stablehlo<transpose {transpose}>"
    )
    known = RANDOM.normal(size=(2, 4, 3) if left_side else (2, 3, 4)) + 0j
    kind = f"tensor<{'x'.join(map(str, known.shape))}xcomplex<f64>>"
    line = f'"stablehlo.triangular_solve"(%a, %b) <{{{attributes}}}> : (tensor<2x4x4xcomplex<f64>>, {kind}) -> {kind}'
    solution = run_op(line, kind, a=COMPLEX, b=known)
    matrix = np.tril(COMPLEX) if lower else np.triu(COMPLEX)
    if unit_diagonal:
        matrix = matrix - matrix * np.eye(4) + np.eye(4)
    matrix = np.swapaxes(matrix, -1, -2) if transpose != "NO_TRANSPOSE" else matrix
    matrix = np.conj(matrix) if transpose == "ADJOINT" else matrix
    product = np.matmul(matrix, solution) if left_side else np.matmul(solution, matrix)
    assert np.allclose(product, known)


def test_real_transforms_of_odd_length_go_there_and_back() -> None:
    x = RANDOM.normal(size=(2, 5)).astype(np.float32)
    half = run_op(
        "stablehlo.fft %a, type = RFFT, length = [5] : (tensor<2x5xf32>) -> tensor<2x3xcomplex<f32>>",
        "tensor<2x3xcomplex<f32>>",
        a=x,
    )
    assert half.dtype == np.complex64
    back = run_op(
        "stablehlo.fft %a, type = IRFFT, length = [5] : (tensor<2x3xcomplex<f32>>) -> tensor<2x5xf32>",
        "tensor<2x5xf32>",
        a=half,
    )
    assert np.allclose(back, x, atol=1e-6)


SORT = """"stablehlo.sort"(%x, %y) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    {body}
    stablehlo.return %p : tensor<i1>
  }}) : (tensor<{n}xf32>, tensor<{n}xi32>) -> (tensor<{n}xf32>, tensor<{n}xi32>)"""


@pytest.mark.parametrize("direction", ["LT", "GT"])
@pytest.mark.parametrize("swapped", [False, True])
def test_one_comparison_is_left_to_numpy(direction: str, swapped: bool) -> None:
    sides = "%b, %a" if swapped else "%a, %b"
    body = f"%p = stablehlo.compare {direction}, {sides} : (tensor<f32>, tensor<f32>) -> tensor<i1>"
    keys = f32(2, 1, 2, 3, 1)
    result = run_ops(SORT.format(body=body, n=5), ("tensor<5xf32>", "tensor<5xi32>"), x=keys, y=i32(0, 1, 2, 3, 4))
    is_descending = (direction == "GT") != swapped
    assert result[0].tolist() == sorted(keys.tolist(), reverse=is_descending)
    assert result[1].tolist() == ([3, 0, 2, 1, 4] if is_descending else [1, 4, 0, 2, 3])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 33])
def test_any_other_comparator_sorts_by_a_network(size: int) -> None:
    """Return a comparator of ascending keys and, for equal keys, descending numbers."""
    body = """%e = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %g = stablehlo.compare GT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %t = stablehlo.and %e, %g : tensor<i1>
    %p = stablehlo.or %l, %t : tensor<i1>"""
    keys = RANDOM.integers(0, 4, size).astype(np.float32)
    numbers = np.arange(size, dtype=np.int32)
    types = (f"tensor<{size}xf32>", f"tensor<{size}xi32>")
    result = run_ops(SORT.format(body=body, n=size), types, x=keys, y=numbers)
    expected = sorted(zip(keys.tolist(), numbers.tolist(), strict=True), key=lambda pair: (pair[0], -pair[1]))
    assert list(zip(result[0].tolist(), result[1].tolist(), strict=True)) == expected


def test_total_order_sorts_nan_and_zeros() -> None:
    body = "%p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>"
    keys = f32(np.nan, 0.0, -0.0, -1.0)
    result = run_ops(SORT.format(body=body, n=4), ("tensor<4xf32>", "tensor<4xi32>"), x=keys, y=i32(0, 1, 2, 3))
    assert result[1].tolist() == [3, 2, 1, 0]


def test_batch_norm() -> None:
    x = RANDOM.normal(size=(5, 3)).astype(np.float32)
    scale, offset = f32(1, 2, 3), f32(0, 1, -1)
    types = "(tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>)"
    attributes = "<{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}>"
    line = f'"stablehlo.batch_norm_training"(%x, %s, %o) {attributes} : {types}'
    results = ("tensor<5x3xf32>", "tensor<3xf32>", "tensor<3xf32>")
    output, mean, variance = run_ops(line, results, x=x, s=scale, o=offset)
    assert np.allclose(mean, x.mean(0), atol=1e-6)
    assert np.allclose(variance, x.var(0), atol=1e-6)
    assert np.allclose(output, (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-3) * scale + offset, atol=1e-5)
    types = "(tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<5x3xf32>"
    line = f'"stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) {attributes} : {types}'
    again = run_op(line, "tensor<5x3xf32>", x=x, s=scale, o=offset, m=mean, v=variance)
    assert np.allclose(again, output, atol=1e-6)


def test_the_gradient_of_batch_norm_is_that_of_its_output() -> None:
    x, grad = RANDOM.normal(size=(2, 4, 2))
    scale = np.array([1.5, -0.5])

    def loss(operand: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        normal = (operand - operand.mean(0)) / np.sqrt(operand.var(0) + 1e-3)
        return float((normal * scale * grad).sum())

    kinds = ["tensor<4x2xf64>", *["tensor<2xf64>"] * 3, "tensor<4x2xf64>"]
    attributes = "<{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}>"
    results = ("tensor<4x2xf64>", "tensor<2xf64>", "tensor<2xf64>")
    line = (
        f'"stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) {attributes} : ({", ".join(kinds)}) -> ({", ".join(results)})'
    )
    operands = {"x": x, "s": scale, "m": x.mean(0), "v": x.var(0), "g": grad}
    grad_x, _, grad_offset = run_ops(line, results, **operands)
    step = np.zeros_like(x)
    step[2, 1] = 1e-5
    assert abs((loss(x + step) - loss(x - step)) / 2e-5 - grad_x[2, 1]) < 1e-5
    assert np.allclose(grad_offset, grad.sum(0))
