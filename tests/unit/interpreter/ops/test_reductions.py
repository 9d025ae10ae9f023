from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.execution.run_text import f32, i32, run, run_op, run_ops
from support.random_ops.draft import region


def reduce_rows(size: int, element: str, *ops: str) -> str:
    """Return a reduction of the two rows of `%x`, of some size each, by a region of several ops."""
    types = f"(tensor<2x{size}x{element}>, tensor<{element}>) -> tensor<2x{element}>"
    return f'"stablehlo.reduce"(%x, %i) <{{dimensions = array<i64: 1>}}> {region(element, *ops)} : {types}'


def reduce(body: str, element: str, size: int) -> str:
    types = f"(tensor<{size}x{element}>, tensor<{element}>) -> tensor<{element}>"
    return f'"stablehlo.reduce"(%x, %i) <{{dimensions = array<i64: 0>}}> {region(element, body)} : {types}'


def test_sums_are_kept_in_a_wider_type() -> None:
    many = np.full(4096, 0.1, np.float32)
    total = run_op(reduce("stablehlo.add %a, %b", "f32", 4096), "tensor<f32>", x=many, i=np.zeros((), np.float32))
    assert total == np.float32(np.sum(many.astype(np.float64)))


def test_narrow_floats_are_summed_in_wide_ones() -> None:
    ones = np.ones(512, ml_dtypes.bfloat16)
    line = reduce("stablehlo.add %a, %b", "bf16", 512)
    assert run_op(line, "tensor<bf16>", x=ones, i=np.zeros((), ml_dtypes.bfloat16)).astype(float) == 512


def test_integers_wrap_in_their_own_type() -> None:
    line = reduce("stablehlo.multiply %a, %b", "i8", 3)
    assert run_op(line, "tensor<i8>", x=np.array([100, 3, 1], np.int8), i=np.array(1, np.int8)) == 44


def test_no_elements_give_the_init_value() -> None:
    line = reduce("stablehlo.maximum %a, %b", "f32", 0)
    assert run_op(line, "tensor<f32>", x=f32(), i=np.array(-7, np.float32)) == -7


@pytest.mark.parametrize(
    ("op", "values", "negative"),
    [
        ("maximum", (-0.0, 0.0, -0.0), False),
        ("maximum", (0.0, -0.0, -1.0), False),
        ("maximum", (-0.0, -0.0, -1.0), True),
        ("minimum", (0.0, -0.0, 0.0), True),
        ("minimum", (0.0, 0.0, 1.0), False),
    ],
)
def test_a_zero_is_larger_than_a_negative_zero(op: str, values: tuple[float, ...], *, negative: bool) -> None:
    line = reduce(f"stablehlo.{op} %a, %b", "f32", 3)
    infinity = np.array(-np.inf if op == "maximum" else np.inf, np.float32)
    assert np.signbit(run_op(line, "tensor<f32>", x=np.array(values, np.float32), i=infinity)) == negative


@pytest.mark.parametrize("repeats", [1, 30])
def test_regions_may_be_more_than_one_op(repeats: int) -> None:
    line = reduce_rows(5 * repeats, "i32", "stablehlo.maximum %a, %b", "stablehlo.minimum %0, %cap")
    values = np.array([[1, 9, 3, 2, 5], [4, 1, 1, 2, 3]], np.int32).repeat(repeats, axis=1)
    operands = {"x": values, "i": np.array(0, np.int32), "cap": np.array(6, np.int32)}
    assert run_op(line, "tensor<2xi32>", **operands).tolist() == [6, 4]


def test_few_elements_are_reduced_in_order() -> None:
    line = reduce_rows(4, "f16", "stablehlo.add %a, %b", "stablehlo.add %0, %step")
    values = np.array([[2048, 1, 1, -2048], [-2048, 2048, 1, 1]], np.float16)
    operands = {"x": values, "i": np.array(0, np.float16), "step": np.array(0, np.float16)}
    assert run_op(line, "tensor<2xf16>", **operands).tolist() == [0, 2]  # 2048 + 1 is rounded to 2048


def test_neighbours_stay_neighbours() -> None:
    """Check a fold by composition of affine functions, which is associative but not commutative."""
    body = """({
      ^bb0(%m: tensor<i32>, %c: tensor<i32>, %n: tensor<i32>, %d: tensor<i32>):
        %0 = stablehlo.multiply %m, %n : tensor<i32>
        %1 = stablehlo.multiply %c, %n : tensor<i32>
        %2 = stablehlo.add %1, %d : tensor<i32>
        stablehlo.return %0, %2 : tensor<i32>, tensor<i32>
      })"""
    types = "(tensor<5xi32>, tensor<5xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)"
    line = f'"stablehlo.reduce"(%x, %y, %one, %zero) <{{dimensions = array<i64: 0>}}> {body} : {types}'
    factors, offsets = i32(2, 3, 1, 2, 5), i32(1, 0, 4, 7, 2)
    operands = {"x": factors, "y": offsets, "one": np.array(1, np.int32), "zero": np.array(0, np.int32)}
    value = 0
    for factor, offset in zip(factors.tolist(), offsets.tolist(), strict=True):
        value = value * factor + offset
    assert [int(each) for each in run_ops(line, ("tensor<i32>", "tensor<i32>"), **operands)] == [60, value]


def test_map_applies_its_region_to_elements() -> None:
    body = region("i32", "stablehlo.subtract %a, %b")
    types = "(tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>"
    line = f'"stablehlo.map"(%x, %y) <{{dimensions = array<i64: 0>}}> {body} : {types}'
    assert run_op(line, "tensor<2xi32>", x=i32(5, 7), y=i32(1, 9)).tolist() == [4, -2]


def test_elements_may_take_different_branches() -> None:
    body = """({
      ^bb0(%a: tensor<i32>):
        %p = stablehlo.compare LT, %a, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %0 = "stablehlo.if"(%p) ({
          %1 = stablehlo.negate %a : tensor<i32>
          stablehlo.return %1 : tensor<i32>
        }, {
          stablehlo.return %a : tensor<i32>
        }) : (tensor<i1>) -> tensor<i32>
        stablehlo.return %0 : tensor<i32>
      })"""
    line = f'"stablehlo.map"(%x) <{{dimensions = array<i64: 0>}}> {body} : (tensor<4xi32>) -> tensor<4xi32>'
    assert run_op(line, "tensor<4xi32>", x=i32(-1, 2, -3, 0), zero=np.array(0, np.int32)).tolist() == [1, 2, 3, 0]


def test_windows_fold_in_order() -> None:
    attributes = "window_dimensions = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>"
    body = region("i32", "stablehlo.add %a, %b")
    line = (
        f'"stablehlo.reduce_window"(%x, %i) <{{{attributes}}}> {body} : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>'
    )
    assert run_op(line, "tensor<3xi32>", x=i32(1, 2, 3), i=np.array(10, np.int32)).tolist() == [21, 13, 15]


def test_select_and_scatter_prefers_the_first_of_equal_elements() -> None:
    regions = """({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %0 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %0 : tensor<i1>
      }, {
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %0 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %0 : tensor<f32>
      })"""
    attributes = "window_dimensions = array<i64: 2>, window_strides = array<i64: 1>"
    types = "(tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4xf32>"
    line = f'"stablehlo.select_and_scatter"(%x, %s, %i) <{{{attributes}}}> {regions} : {types}'
    operands = {"x": f32(5, 5, 1, 2), "s": f32(10, 20, 30), "i": np.array(0, np.float32)}
    assert run_op(line, "tensor<4xf32>", **operands).tolist() == [10, 20, 0, 30]


def test_products_of_narrow_floats_are_rounded_at_the_end() -> None:
    line = "stablehlo.dot %x, %y : (tensor<300xbf16>, tensor<300xbf16>) -> tensor<bf16>"
    ones = np.ones(300, ml_dtypes.bfloat16)
    assert run_op(line, "tensor<bf16>", x=ones, y=ones).astype(float) == 300


def test_products_take_the_type_of_the_result() -> None:
    line = "stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<2xi8>, tensor<2xi8>) -> tensor<i32>"
    assert run_op(line, "tensor<i32>", x=np.array([100, 100], np.int8)) == 20000


def test_einsum() -> None:
    types = "(tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x2xi32>"
    line = f'"stablehlo.einsum"(%x, %y) <{{einsum_config = "ij,jk->ki"}}> : {types}'
    x, y = np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(6, dtype=np.int32).reshape(3, 2)
    assert run_op(line, "tensor<2x2xi32>", x=x, y=y).tolist() == (x @ y).T.tolist()
    line = '"stablehlo.unary_einsum"(%x) <{einsum_config = "ij->j"}> : (tensor<2x3xi32>) -> tensor<3xi32>'
    assert run_op(line, "tensor<3xi32>", x=x).tolist() == [3, 5, 7]


def test_regions_may_use_values_around_them() -> None:
    (result,) = run(
        """
        func.func @main(%x: tensor<3xi32>, %k: tensor<i32>) -> tensor<3xi32> {
          %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
          ^bb0(%a: tensor<i32>):
            %1 = stablehlo.multiply %a, %k : tensor<i32>
            stablehlo.return %1 : tensor<i32>
          }) : (tensor<3xi32>) -> tensor<3xi32>
          return %0 : tensor<3xi32>
        }""",
        i32(1, 2, 3),
        np.array(4, np.int32),
    )
    assert result.tolist() == [4, 8, 12]
