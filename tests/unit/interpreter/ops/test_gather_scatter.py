from __future__ import annotations

import numpy as np
import pytest
from support.execution.run_text import i32, run_op
from support.random_ops.draft import ELEMENTS, region

from sdy.interpreter.arrays.element_types import dtype_of

KEEP_NEW = """({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  })"""


def scatter(body: str, updates: str, element: str = "i32") -> str:
    numbers = "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    operand = f"tensor<4x{element}>"
    types = f"({operand}, tensor<{updates}x1xi32>, tensor<{updates}x{element}>) -> {operand}"
    attributes = f"<{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}>"
    return f'"stablehlo.scatter"(%x, %i, %u) {attributes} {body} : {types}'


def column(*values: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    return np.array(values, np.int32).reshape(-1, 1)


def test_full_rows_are_gathered_as_blocks() -> None:
    numbers = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
    attributes = f"<{{dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: 1, 3>}}>"
    line = f'"stablehlo.gather"(%x, %i) {attributes} : (tensor<4x3xi32>, tensor<3xi32>) -> tensor<3x3xi32>'
    table = np.arange(12, dtype=np.int32).reshape(4, 3)
    assert run_op(line, "tensor<3x3xi32>", x=table, i=i32(2, 9, -1)).tolist() == table[[2, 3, 0]].tolist()


def test_batching_dims_select_their_slice_of_the_operand() -> None:
    numbers = (
        "collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], "
        "start_index_map = [1], index_vector_dim = 2"
    )
    attributes = f"<{{dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: 1, 1>}}>"
    line = f'"stablehlo.gather"(%x, %i) {attributes} : (tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>'
    table = np.arange(6, dtype=np.int32).reshape(2, 3)
    indices = np.array([[2, 0], [1, 1]], np.int32)
    assert run_op(line, "tensor<2x2xi32>", x=table, i=indices).tolist() == [[2, 0], [4, 4]]


def test_slice_sizes_may_be_an_operand() -> None:
    numbers = "offset_dims = [1], start_index_map = [0], index_vector_dim = 1"
    attributes = f"<{{dimension_numbers = #stablehlo.gather<{numbers}>}}>"
    types = "(tensor<4xi32>, tensor<2x1xi32>, tensor<1xi32>) -> tensor<2x?xi32>"
    line = f'"stablehlo.dynamic_gather"(%x, %i, %s) {attributes} : {types}'
    result = run_op(line, "tensor<2x?xi32>", x=i32(1, 2, 3, 4), i=column(1, 0), s=i32(2))
    assert result.tolist() == [[2, 3], [1, 2]]


def test_index_select_takes_slices_along_a_dim() -> None:
    types = "(tensor<2x3x2xi32>, tensor<2x2xi32>) -> tensor<2x2x2xi32>"
    line = f'"stablehlo.torch_index_select"(%x, %i) <{{dim = 1 : i64, batch_dims = 1 : i64}}> : {types}'
    table = np.arange(12, dtype=np.int32).reshape(2, 3, 2)
    indices = np.array([[2, 0], [1, 1]], np.int32)
    expected = np.stack([table[0][[2, 0]], table[1][[1, 1]]])
    assert run_op(line, "tensor<2x2x2xi32>", x=table, i=indices).tolist() == expected.tolist()


def test_updates_of_one_index_are_all_combined() -> None:
    line = scatter(region("i32", "stablehlo.add %a, %b"), "4")
    result = run_op(line, "tensor<4xi32>", x=i32(0, 0, 0, 0), i=column(1, 3, 1, 1), u=i32(1, 2, 3, 4))
    assert result.tolist() == [0, 8, 0, 2]


def test_of_zeros_of_both_signs_the_largest_update_is_positive() -> None:
    line = scatter(region("f32", "stablehlo.maximum %a, %b"), "4", "f32")
    updates = np.array([0.0, -0.0, -0.0, -0.0], np.float32)
    found = run_op(line, "tensor<4xf32>", x=np.full(4, -np.inf, np.float32), i=column(1, 1, 3, 3), u=updates)
    assert [found[1], found[3]] == [0.0, 0.0]
    assert np.signbit(found[[1, 3]]).tolist() == [False, True]


def test_last_update_of_an_index_wins() -> None:
    result = run_op(scatter(KEEP_NEW, "3"), "tensor<4xi32>", x=i32(9, 9, 9, 9), i=column(2, 0, 2), u=i32(1, 2, 3))
    assert result.tolist() == [2, 9, 3, 9]


def test_updates_are_combined_in_order_where_the_region_is_not_known() -> None:
    body = region("i32", "stablehlo.add %a, %a", "stablehlo.add %0, %b")
    result = run_op(scatter(body, "3"), "tensor<4xi32>", x=i32(1, 0, 0, 0), i=column(0, 0, 1), u=i32(10, 20, 5))
    assert result.tolist() == [(1 * 2 + 10) * 2 + 20, 5, 0, 0]


@pytest.mark.parametrize("element", ["f16", "f32", "bf16", "f64"])
def test_sums_of_updates_are_rounded_in_order(element: str) -> None:
    dtype = dtype_of(ELEMENTS[element])
    updates = np.random.default_rng(0).normal(size=300).astype(dtype)
    start = np.array([3, 1, 0, 0], dtype)
    expected = start.copy()
    for index, update in enumerate(updates):
        expected[index % 2] = np.add(expected[index % 2], update)
    line = scatter(region(element, "stablehlo.add %a, %b"), "300", element)
    indices = (np.arange(300, dtype=np.int32) % 2).reshape(-1, 1)
    found = run_op(line, f"tensor<4x{element}>", x=start, i=indices, u=updates)
    assert found.tobytes() == expected.tobytes()


def test_out_of_range_updates_are_ignored() -> None:
    line = scatter(region("i32", "stablehlo.add %a, %b"), "3")
    assert run_op(line, "tensor<4xi32>", x=i32(0, 0, 0, 0), i=column(-1, 4, 1), u=i32(1, 2, 3)).tolist() == [0, 3, 0, 0]
    nothing = scatter(KEEP_NEW, "1")
    assert run_op(nothing, "tensor<4xi32>", x=i32(1, 2, 3, 4), i=column(7), u=i32(0)).tolist() == [1, 2, 3, 4]
