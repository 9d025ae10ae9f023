"""Copies in another order of dims in memory, for matrix products, convolutions and collectives."""

from __future__ import annotations

import pytest

from sdy.cost.memory import bytes_of_tensor, memory_curve, peak, peak_bytes, values_at_peak
from sdy.dialects.module_text import parse_module

CUBE, STACKED = "tensor<4x4x4xf32>", "tensor<4x16xf32>"
BYTES = 256  # of each of them


def cubes(*lines: str, argument: str = CUBE, result: str = CUBE, is_compiled: bool = True) -> float:
    """Return the peak, in cubes, of a function of one argument `%a` that returns `%r`."""
    head = f"func.func @main(%a: {argument}) -> {result} {{"
    module = parse_module("\n".join([head, *lines, f"return %r : {result}", "}"]))
    assert max(memory_curve(module)) == peak_bytes(module) == sum(values_at_peak(module).values.values())
    return peak(module, bytes_of_tensor, is_compiled=is_compiled) / BYTES


def product(lhs: str, lhs_dims: tuple[int, int], rhs: str, rhs_dims: tuple[int, int]) -> str:
    """Return the line of a product of cubes, each with its batching and its contracting dim."""
    pairs = zip(("batching_dims", "contracting_dims"), lhs_dims, rhs_dims, strict=True)
    dims = ", ".join(f"{name} = [{left}] x [{right}]" for name, left, right in pairs)
    return f"%r = stablehlo.dot_general {lhs}, {rhs}, {dims} : ({CUBE}, {CUBE}) -> {CUBE}"


@pytest.mark.parametrize(
    ("lhs_dims", "rhs_dims", "count"),
    [
        ((0, 1), (0, 2), 2),  # the batching dim is the first one of both operands
        ((0, 2), (0, 1), 2),
        ((1, 2), (0, 1), 3),
        ((1, 2), (1, 2), 4),
        ((2, 0), (0, 1), 3),
    ],
)
def test_operands_of_products_are_copied_if_the_batching_dim_is_not_first(
    lhs_dims: tuple[int, int], rhs_dims: tuple[int, int], count: int
) -> None:
    assert cubes(product("%a", lhs_dims, "%a", rhs_dims)) == count


def test_a_run_of_single_ops_copies_nothing() -> None:
    assert cubes(product("%a", (1, 2), "%a", (1, 2)), is_compiled=False) == 2


def test_a_kernel_writes_its_result_in_the_order_of_its_only_reader() -> None:
    negated = f"%0 = stablehlo.negate %a : {CUBE}"
    assert cubes(negated, product("%0", (1, 2), "%a", (0, 1))) == 3
    assert cubes(negated, product("%0", (1, 2), "%0", (0, 1))) == 4


@pytest.mark.parametrize(("dims", "count"), [((0, 1), 3), ((1, 2), 2)])
def test_a_product_reads_a_transposed_operand_if_its_batching_dim_is_first_in_memory(
    dims: tuple[int, int], count: int
) -> None:
    transpose = f"%0 = stablehlo.transpose %a, dims = [1, 0, 2] : ({CUBE}) -> {CUBE}"
    assert cubes(transpose, product("%0", dims, "%a", (0, 1))) == count


def test_rows_and_columns_of_a_product_are_not_mixed() -> None:
    dims = "contracting_dims = [1] x [0]"
    line = f"%r = stablehlo.dot_general %a, %m, {dims} : ({CUBE}, tensor<4x4xf32>) -> {CUBE}"
    constant = "%m = stablehlo.constant dense<1.0> : tensor<4x4xf32>"
    assert cubes(constant, line) == 3.25
    assert cubes(constant, line.replace("[1] x", "[2] x")) == 2.25


def gather(dim: int, shape: str, rows: str) -> str:
    groups = "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"
    return f'%0 = "stablehlo.all_gather"(%a) <{{all_gather_dim = {dim} : i64, {groups}}}> : ({shape}) -> {rows}'


def test_a_gather_along_a_dim_that_is_not_first_copies_operand_and_result() -> None:
    """The result is in memory twice: as gathered, and in the order in which it is returned."""
    minor, major = "tensor<4x4xf32>", "tensor<1x16xf32>"
    returned = f"%r = stablehlo.reshape %0 : ({STACKED}) -> {STACKED}"
    assert cubes(gather(1, minor, STACKED), returned, argument=minor, result=STACKED) == 2.25
    assert cubes(gather(0, major, STACKED), returned, argument=major, result=STACKED) == 1.25


def test_a_kernel_reads_what_was_gathered_in_any_order() -> None:
    minor = "tensor<4x4xf32>"
    negated = f"%r = stablehlo.negate %0 : {STACKED}"
    assert cubes(gather(1, minor, STACKED), negated, argument=minor, result=STACKED) == 1.5


def test_an_all_to_all_sends_and_receives_a_buffer_per_device() -> None:
    """The argument, what is sent, what is received, and the memory of the result."""
    groups = "split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"
    dims = "split_dimension = 0 : i64, concat_dimension = 1 : i64"
    square, wide = "tensor<16x4xf32>", "tensor<4x16xf32>"
    line = f'%r = "stablehlo.all_to_all"(%a) <{{{dims}, {groups}}}> : ({square}) -> {wide}'
    assert cubes(line, argument=square, result=wide) == 3


def convolution(numbers: str) -> str:
    window = "window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]}"
    counts = "batch_group_count = 1 : i64, feature_group_count = 1 : i64"
    types = f"({CUBE}, tensor<1x4x4xf32>) -> {CUBE}"
    return f"%r = stablehlo.convolution(%a, %m) dim_numbers = {numbers}, {window} {{{counts}}} : {types}"


@pytest.mark.parametrize(
    ("numbers", "count"),
    [("[b, 0, f]x[0, i, o]->[b, 0, f]", 2.25), ("[f, 0, b]x[0, i, o]->[b, 0, f]", 3.25)],
)
def test_a_convolution_reads_batches_of_windows_of_features(numbers: str, count: float) -> None:
    assert cubes("%m = stablehlo.constant dense<1.0> : tensor<1x4x4xf32>", convolution(numbers)) == count


def test_the_selected_elements_are_found_by_their_indices() -> None:
    """One index per dim and element of operand and source, and the maxima of the windows."""
    windows = "window_dimensions = array<i64: 1, 4>, window_strides = array<i64: 1, 4>"
    lines = """
    %s = stablehlo.constant dense<1.0> : tensor<4x4xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.select_and_scatter"(%a, %s, %z) <{WINDOWS}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %p = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %p : tensor<f32>
    }) : (tensor<4x16xf32>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x16xf32>"""
    constants = (64 + 4) / BYTES
    assert (
        cubes(lines.replace("WINDOWS", windows), argument=STACKED, result=STACKED)
        == 2 + constants + 2 * (1 + 0.25) + 0.25
    )
