from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from support.execution.run_text import f32, i32, run_op, run_ops

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.ops.chlo import cosh, high_product, next_after, sinh


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64])
def test_high_product(dtype: type[np.generic]) -> None:
    random = np.random.default_rng(0)
    width = np.dtype(dtype).itemsize * 8
    left, right = (np.frombuffer(random.bytes(50 * width // 8), dtype) for _ in range(2))
    expected = [(a * b) >> width for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    assert high_product(left, right).tolist() == expected


def test_next_after_steps_among_the_floats_of_its_type() -> None:
    def bfloat(*values: float) -> Array:
        return np.array(values, ml_dtypes.bfloat16)

    result = next_after(bfloat(1, 1, -1, 0, 2), bfloat(9, -9, 9, -1, 2)).astype(np.float64)
    assert result.tolist() == [1 + 2**-7, 1 - 2**-8, -1 + 2**-8, -(2.0**-133), 2]
    assert np.isnan(next_after(bfloat(1), bfloat(np.nan)).astype(np.float64))
    assert next_after(f32(1), f32(2)).tolist() == [np.nextafter(np.float32(1), np.float32(2))]


def test_hyperbolic_functions_are_close_to_those_of_numpy() -> None:
    x = np.linspace(-5, 5, 101)
    assert np.allclose(cosh(x), np.cosh(x), rtol=1e-14)
    assert np.allclose(sinh(x), np.sinh(x), rtol=1e-14)
    assert sinh(np.array([1e-9])).tolist() == [1e-9]


def test_special_functions_keep_the_element_type() -> None:
    line = "chlo.erf %x : tensor<2xf32> -> tensor<2xf32>"
    assert run_op(line, "tensor<2xf32>", x=f32(0.5, 3)).tolist() == [
        np.float32(0.5204998778130465),
        np.float32(0.9999779),
    ]


def test_error_functions_and_gamma_have_no_rounding_errors_of_their_own() -> None:
    x = np.concatenate([np.linspace(-6, 6, 999), [2.0000045, 1e-300, 1e300]])
    for name, function in (("erf", math.erf), ("erfc", math.erfc), ("lgamma", math.lgamma)):
        kept = x if name != "lgamma" else x[x > 0]
        kind = f"tensor<{len(kept)}xf64>"
        found = run_op(f"chlo.{name} %x : {kind} -> {kind}", kind, x=kept)
        assert found.tolist() == [function(value) for value in kept.tolist()]
    poles = np.array([0.0, -2.0, -np.inf, 1e306])
    line = "chlo.lgamma %x : tensor<4xf64> -> tensor<4xf64>"
    assert run_op(line, "tensor<4xf64>", x=poles).tolist() == [np.inf] * 4
    scalar = run_op("chlo.erf %x : tensor<f64> -> tensor<f64>", "tensor<f64>", x=np.array(0.5))
    assert scalar.tolist() == math.erf(0.5)


def test_infinities() -> None:
    x = f32(np.inf, -np.inf, np.nan, 1)
    for name, expected in (("is_inf", [1, 1, 0, 0]), ("is_pos_inf", [1, 0, 0, 0]), ("is_neg_inf", [0, 1, 0, 0])):
        assert run_op(f"chlo.{name} %x : tensor<4xf32> -> tensor<4xi1>", "tensor<4xi1>", x=x).tolist() == expected


def test_the_largest_elements_come_first_and_equal_ones_in_order() -> None:
    line = "chlo.top_k(%x, k = 3) : tensor<5xf32> -> (tensor<3xf32>, tensor<3xi32>)"
    values, indices = run_ops(line, ("tensor<3xf32>", "tensor<3xi32>"), x=f32(1, 4, 2, 4, np.nan))
    assert indices.tolist() == [4, 1, 3]
    assert values[1:].tolist() == [4, 4]


def test_operands_are_broadcast_to_a_common_shape() -> None:
    matrix, row = np.arange(6, dtype=np.int32).reshape(2, 3), i32(10, 20, 30)
    line = "chlo.broadcast_add %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>"
    assert run_op(line, "tensor<2x3xi32>", x=matrix, y=row).tolist() == np.add(matrix, row).tolist()
    types = "(tensor<2xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>"
    line = f'"chlo.broadcast_subtract"(%x, %y) <{{broadcast_dimensions = array<i64: 0>}}> : {types}'
    column = i32(10, 20)
    assert run_op(line, "tensor<2x3xi32>", x=column, y=matrix).tolist() == np.subtract(column[:, None], matrix).tolist()


def test_constants() -> None:
    line = '"chlo.constant_like"(%x) <{value = 3 : i32}> : (tensor<2x2xi32>) -> tensor<2x2xi32>'
    assert run_op(line, "tensor<2x2xi32>", x=np.zeros((2, 2), np.int32)).tolist() == [[3, 3], [3, 3]]


RAGGED = np.random.default_rng(0)


def ragged(numbers: str, lhs: Array, rhs: Array, sizes: Array, result: tuple[int, ...]) -> Array:
    kind = f"tensor<{'x'.join(map(str, result))}xf64>"
    types = ", ".join(f"tensor<{'x'.join(map(str, array.shape))}xf64>" for array in (lhs, rhs))
    size_type = f"tensor<{'x'.join(map(str, sizes.shape))}xi64>"
    attributes = f"<{{ragged_dot_dimension_numbers = #chlo.ragged_dot<{numbers}>}}>"
    line = f'"chlo.ragged_dot"(%l, %r, %s) {attributes} : ({types}, {size_type}) -> {kind}'
    return run_op(line, kind, l=lhs, r=rhs, s=sizes)


def test_rows_are_multiplied_with_the_matrix_of_their_group() -> None:
    lhs, rhs, sizes = RAGGED.normal(size=(6, 4)), RAGGED.normal(size=(3, 4, 2)), np.array([2, 0, 3])
    numbers = (
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], "
        "rhs_group_dimensions = [0]"
    )
    expected = np.concatenate([lhs[:2] @ rhs[0], lhs[2:5] @ rhs[2], np.zeros((1, 2))])
    assert np.allclose(ragged(numbers, lhs, rhs, sizes, (6, 2)), expected)


def test_batches_may_have_groups_of_their_own() -> None:
    lhs, rhs = RAGGED.normal(size=(2, 4, 3)), RAGGED.normal(size=(2, 2, 3, 5))
    sizes = np.array([[1, 3], [2, 2]])
    numbers = (
        "lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], "
        "rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]"
    )
    expected = np.stack(
        [np.concatenate([lhs[b, :cut] @ rhs[0, b], lhs[b, cut:] @ rhs[1, b]]) for b, cut in enumerate((1, 2))]
    )
    assert np.allclose(ragged(numbers, lhs, rhs, sizes, (2, 4, 5)), expected)


def test_a_ragged_dim_that_is_summed_gives_a_matrix_per_group() -> None:
    lhs, rhs, sizes = RAGGED.normal(size=(3, 5)), RAGGED.normal(size=(5, 2)), np.array([2, 3])
    numbers = "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]"
    expected = np.stack([lhs[:, :2] @ rhs[:2], lhs[:, 2:] @ rhs[2:]])
    assert np.allclose(ragged(numbers, lhs, rhs, sizes, (2, 3, 2)), expected)


def test_a_ragged_batch_dim_is_a_batch_dim() -> None:
    lhs, rhs, sizes = RAGGED.normal(size=(4, 2, 3)), RAGGED.normal(size=(4, 3, 2)), np.array([1, 3])
    numbers = (
        "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], "
        "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]"
    )
    assert np.allclose(ragged(numbers, lhs, rhs, sizes, (4, 2, 2)), lhs @ rhs)


def test_a_scan_runs_from_either_end() -> None:
    body = """{
    ^bb0(%y: tensor<i32>, %s: tensor<i32>):
      %1 = stablehlo.subtract %y, %s : tensor<i32>
      stablehlo.return %1, %1 : tensor<i32>, tensor<i32>
    } : (tensor<3xi32>, tensor<i32>) -> (tensor<3xi32>, tensor<i32>)"""
    results, operands = ("tensor<3xi32>", "tensor<i32>"), {"x": i32(1, 2, 4), "i": np.array(0, np.int32)}
    forward = run_ops(f"chlo.scan(%x) inits(%i) dimension=0 {body}", results, **operands)
    assert (forward[0].tolist(), int(forward[1])) == ([1, 1, 3], 3)
    line = f"chlo.scan(%x) inits(%i) dimension=0 attributes {{is_reverse = true}} {body}"
    backward = run_ops(line, results, **operands)
    assert (backward[0].tolist(), int(backward[1])) == ([3, -2, 4], 3)
