"""Seconds of ops and of local programs, computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from xdsl.ir import Operation

from sdy.cost.collectives import CollectiveKind
from sdy.cost.hardware import MatrixRates
from sdy.cost.machines.table import HARDWARE
from sdy.cost.program_cost import CollectiveCost, cost_of
from sdy.cost.quantities import seconds_text
from sdy.cost.roofline import OpTime, op_time, rate_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.module_text import parse_module
from sdy.dialects.stablehlo.contraction import DotGeneralOp
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.dialects.stablehlo.gather_scatter import GatherOp, ScatterOp
from sdy.dialects.stablehlo.shape import ReshapeOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp, DynamicUpdateSliceOp, SliceOp
from sdy.grammar.parse import parse_mesh

V5E = HARDWARE["tpu_v5e"].ideal()
BANDWIDTH, RATE = 8.1e11, 1.97e14

MATMUL = """
func.func @main(%a: tensor<{rows}x4096xbf16>, %b: tensor<4096x4096xbf16>) -> tensor<{rows}x4096xbf16> {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<{rows}x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<{rows}x4096xbf16>
  return %0 : tensor<{rows}x4096xbf16>
}}
"""

LOOP = """
func.func @main(%arg0: tensor<1024xf32>) -> tensor<1024xf32> {
  %start = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %start, %x = %arg0) : tensor<i32>, tensor<1024xf32>
  cond {
    %stop = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %stop : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %step = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %step : tensor<i32>
    %2 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %3 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<1024xf32>) -> tensor<1024xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<1024xf32>
  }
  %4 = "stablehlo.all_reduce"(%0#1) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<1024xf32>) -> tensor<1024xf32>
  return %4 : tensor<1024xf32>
}
"""


def _only(text: str, op_class: type[Operation]) -> Operation:
    (op,) = ops_of(parse_module(text), op_class)
    return op


@pytest.mark.parametrize(("rows", "is_compute_bound"), [(128, False), (1024, True)])
def test_a_matmul_with_many_rows_is_compute_bound(rows: int, is_compute_bound: bool) -> None:
    time = op_time(_only(MATMUL.format(rows=rows), DotGeneralOp), V5E)
    assert time.compute_seconds == pytest.approx(2 * rows * 4096**2 / RATE)
    assert time.memory_seconds == pytest.approx(2 * (2 * rows * 4096 + 4096**2) / BANDWIDTH)
    assert time.is_compute_bound is is_compute_bound
    assert time.seconds == max(time.compute_seconds, time.memory_seconds)


def test_an_elementwise_op_reads_and_writes() -> None:
    text = """
    func.func @main(%a: tensor<8x16xf32>) -> tensor<128xf32> {
      %0 = stablehlo.add %a, %a : tensor<8x16xf32>
      %1 = stablehlo.reshape %0 : (tensor<8x16xf32>) -> tensor<128xf32>
      return %1 : tensor<128xf32>
    }"""
    assert op_time(_only(text, AddOp), V5E) == OpTime(0.0, 3 * 512 / BANDWIDTH)
    assert op_time(_only(text, ReshapeOp), V5E) == OpTime(0.0, 0.0)


ACCESSES = """
func.func @main(%table: tensor<1000x64xf32>, %rows: tensor<8x1xi32>, %i: tensor<i32>, %new: tensor<8x64xf32>)
    -> tensor<8x64xf32> {
  %0 = "stablehlo.gather"(%table, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}>
      : (tensor<1000x64xf32>, tensor<8x1xi32>) -> tensor<8x64xf32>
  %1 = stablehlo.slice %table [0:8, 0:64] : (tensor<1000x64xf32>) -> tensor<8x64xf32>
  %2 = stablehlo.dynamic_slice %table, %i, %i, sizes = [8, 64]
      : (tensor<1000x64xf32>, tensor<i32>, tensor<i32>) -> tensor<8x64xf32>
  %3 = stablehlo.dynamic_update_slice %table, %new, %i, %i
      : (tensor<1000x64xf32>, tensor<8x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1000x64xf32>
  %4 = "stablehlo.scatter"(%table, %rows, %new) <{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
      index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<1000x64xf32>, tensor<8x1xi32>, tensor<8x64xf32>) -> tensor<1000x64xf32>
  return %0 : tensor<8x64xf32>
}
"""


@pytest.mark.parametrize(
    ("op_class", "accessed"),
    [
        (GatherOp, 2 * 2048 + 32),
        (SliceOp, 2 * 2048),
        (DynamicSliceOp, 2 * 2048 + 8),
        (DynamicUpdateSliceOp, 2 * 2048 + 8),
        (ScatterOp, 3 * 2048 + 32),
    ],
)
def test_slices_and_updates_access_only_their_elements(op_class: type[Operation], accessed: int) -> None:
    assert op_time(_only(ACCESSES, op_class), V5E) == OpTime(0.0, accessed / BANDWIDTH)


@pytest.mark.parametrize(
    ("element", "rate"),
    [("i8", 1.0), ("f8E4M3FN", 2.0), ("f8E5M2", 2.0), ("bf16", 3.0), ("f16", 3.0), ("f32", 4.0), ("f64", 4.0)],
)
def test_rates_depend_on_the_element_type(element: str, rate: float) -> None:
    module = parse_module(f"func.func @main(%a: tensor<4x{element}>) {{ return }}")
    (type_of_a,) = main_function(module).function_type.inputs
    assert rate_of(type_of_a, MatrixRates(1.0, 2.0, 3.0, 4.0)) == rate


def test_loops_count_their_trips_and_equal_collectives_are_summed() -> None:
    cost = cost_of(parse_module(LOOP), parse_mesh('<["x"=2, "y"=2]>'), V5E)
    (found,) = cost.collectives
    assert replace(found, seconds=0.0) == CollectiveCost(
        CollectiveKind.ALL_REDUCE, '{"x"}', places=2, runs=6, bytes_sent=6 * 4096.0, latency_bound_runs=6
    )
    sending = 6 * 4096 / 4.5e10
    assert found.seconds == pytest.approx(6 * 2e-6 + sending)  # there and back, one hop each
    counting = 5 * ((4 + 4 + 1) + (4 + 4 + 4)) / BANDWIDTH  # comparing and adding the counter
    assert cost.memory_seconds == pytest.approx(counting)
    assert cost.seconds_in_turn == pytest.approx(counting + 12e-6 + sending)
    assert cost.seconds_overlapped == pytest.approx(12e-6 + sending)


@pytest.mark.parametrize(("free_bytes", "fits"), [(None, True), (8192, True), (8191, False)])
def test_a_program_fits_if_its_peak_is_free(free_bytes: float | None, fits: bool) -> None:
    text = """
    func.func @main(%a: tensor<1024xf32>) -> tensor<1024xf32> {
      %0 = stablehlo.negate %a : tensor<1024xf32>
      return %0 : tensor<1024xf32>
    }"""
    cost = cost_of(parse_module(text), parse_mesh('<["x"=2]>'), V5E, free_bytes)
    assert cost.peak_bytes == 8192
    assert cost.fits is fits


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.0, "2 s"), (0.0123, "12.3 ms"), (1e-6, "1 µs"), (3.084e-7, "308 ns"), (0.0, "0 ns")]
)
def test_seconds_are_printed_with_three_digits(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


FLOAT4_MATMUL = """
func.func @main(%a: tensor<4096x4096xf4E2M1FN>, %b: tensor<4096x4096xf4E2M1FN>) -> tensor<4096x4096xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<4096x4096xf4E2M1FN>, tensor<4096x4096xf4E2M1FN>) -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}
"""


def test_products_of_4_bit_floats_have_their_own_efficiency_and_start() -> None:
    ideal = HARDWARE["gb200"].ideal()
    kernels = replace(ideal.kernels, float4_efficiency=0.5, float4_start_seconds=1e-6)
    narrow, wide = _only(FLOAT4_MATMUL, DotGeneralOp), _only(MATMUL.format(rows=4096), DotGeneralOp)
    seconds = [op_time(op, replace(ideal, kernels=kernels)).compute_seconds for op in (narrow, wide)]
    assert seconds == pytest.approx([2 * 4096**3 / 1e16 / 0.5 + 1e-6, 2 * 4096**3 / 2.5e15])
