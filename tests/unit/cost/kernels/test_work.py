"""The bytes, starts and arithmetic that ops add to kernels, counted by hand for each kind of target."""

from __future__ import annotations

from dataclasses import replace

import pytest
from xdsl.ir import Operation

from sdy.cost.executions import visits
from sdy.cost.hardware import Kernels
from sdy.cost.kernels.work import Work, work_of
from sdy.cost.roofline import accessed_bytes
from sdy.dialects.module_text import parse_module
from sdy.dialects.sharded_types import tensor_bytes

SIZE = 4096.0  # bytes of a tensor<1024xf32>

CHAIN = """
func.func @main(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = stablehlo.add %a, %b : tensor<1024xf32>
  %1 = stablehlo.multiply %0, %a : tensor<1024xf32>
  %2 = stablehlo.negate %1 : tensor<1024xf32>
  return %2 : tensor<1024xf32>
}
"""
# An op that two kernels read: they compute it, if that moves no more bytes.
SHARED = """
func.func @main(%a: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.OP %a : tensor<1024xf32>
  %1 = stablehlo.negate %0 : tensor<1024xf32>
  %2 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  return %1, %2 : tensor<1024xf32>, tensor<f32>
}
"""
OUTPUTS = """
func.func @main(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>) {
  %0 = stablehlo.add %a, %b : tensor<1024xf32>
  %1 = stablehlo.negate %0 : tensor<1024xf32>
  return %0, %1 : tensor<1024xf32>, tensor<1024xf32>
}
"""
PRODUCT = """
func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.negate %a : tensor<64x64xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = stablehlo.add %2, %b : tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}
"""
CALLED = """
func.func @main(%a: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = func.call @twice(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %1 = stablehlo.negate %0 : tensor<1024xf32>
  return %1 : tensor<1024xf32>
}
func.func private @twice(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = stablehlo.add %x, %x : tensor<1024xf32>
  return %0 : tensor<1024xf32>
}
"""
LOOP = """
func.func @main(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {
  %start = stablehlo.constant dense<0> : tensor<i32>
  %large = stablehlo.constant dense<2.0> : tensor<f32>
  %all = stablehlo.broadcast_in_dim %large, dims = [] : (tensor<f32>) -> tensor<1024xf32>
  %0:3 = stablehlo.while(%i = %start, %x = %a, %c = %all) : tensor<i32>, tensor<1024xf32>, tensor<1024xf32>
  cond {
    %stop = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %stop : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %step = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %step : tensor<i32>
    %2 = stablehlo.multiply %x, %c : tensor<1024xf32>
    stablehlo.return %1, %2, %c : tensor<i32>, tensor<1024xf32>, tensor<1024xf32>
  }
  return %0#1 : tensor<1024xf32>
}
"""


def accounts(text: str, fusion: str) -> list[tuple[Operation, Work, float]]:
    """Return each op with its work and the bytes that it moves."""
    module = parse_module(text)
    found: list[tuple[Operation, Work, float]] = []
    for visit, each in zip(visits(module), work_of(module, Kernels(fusion)).visits, strict=True):
        if each is not None and each[0].op.results:
            sizes = [tensor_bytes(value.type) for value in (*visit.op.operands, *visit.op.results)]
            found.append((visit.op, each[1], accessed_bytes(visit.op, sizes, each[1])))
    return found


def moved(text: str, fusion: str) -> float:
    return sum(size for op, _, size in accounts(text, fusion) if op.name != "stablehlo.while")


def starts(text: str, fusion: str) -> int:
    return sum(work.starts for _, work, _ in accounts(text, fusion))


@pytest.mark.parametrize(
    ("fusion", "tensors", "kernels"), [("none", 3 + 3 + 2, 3), ("cpu", 3, 1), ("gpu", 3, 1), ("tpu", 3, 1)]
)
def test_a_chain_reads_its_inputs_once_and_writes_its_output(fusion: str, tensors: int, kernels: int) -> None:
    assert moved(CHAIN, fusion) == tensors * SIZE
    assert starts(CHAIN, fusion) == kernels


def test_two_kernels_compute_an_op_if_that_moves_no_more_bytes() -> None:
    cheap = SHARED.replace("OP", "abs")
    assert moved(cheap, "gpu") == 3 * SIZE + 4  # a twice, a result and the sum
    assert starts(cheap, "gpu") == 2


def test_only_some_targets_repeat_functions() -> None:
    function = SHARED.replace("OP", "exponential")
    assert moved(function, "gpu") == 3 * SIZE + 4
    assert moved(function, "cpu") == (2 + 2 + 1) * SIZE + 4  # the function is stored, and read twice


@pytest.mark.parametrize(("fusion", "tensors"), [("cpu", 3 + 2), ("gpu", 4), ("tpu", 4)])
def test_a_kernel_may_have_several_outputs(fusion: str, tensors: int) -> None:
    assert moved(OUTPUTS, fusion) == tensors * SIZE


def test_a_product_reads_transposed_operands_and_on_a_tpu_it_is_fused_with_what_is_around_it() -> None:
    matrix = 64 * 64 * 4
    assert moved(PRODUCT, "gpu") == (2 + 3 + 3) * matrix
    assert starts(PRODUCT, "gpu") == 3
    assert moved(PRODUCT, "tpu") == 3 * matrix
    assert starts(PRODUCT, "tpu") == 1


TRANSPOSED = """
func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.negate %1 : tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}
"""


def test_a_product_writes_its_result_in_the_layout_that_its_reader_wants() -> None:
    matrix = 64 * 64 * 4
    assert moved(TRANSPOSED, "gpu") == (2 + 1 + 1 + 1) * matrix
    assert starts(TRANSPOSED, "gpu") == 2
    assert moved(TRANSPOSED, "tpu") == 3 * matrix


STACK = """
func.func @main(%stack: tensor<4x64x64xf32>, %w: tensor<64x64xf32>) -> tensor<4x64x64xf32> {
  %start = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %start, %s = %stack) : tensor<i32>, tensor<4x64x64xf32>
  cond {
    %stop = stablehlo.constant dense<4> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %stop : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %part = stablehlo.dynamic_slice %s, %i, %zero, %zero, sizes = [1, 64, 64]
        : (tensor<4x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x64xf32>
    %x = stablehlo.reshape %part : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %new = stablehlo.reshape %y : (tensor<64x64xf32>) -> tensor<1x64x64xf32>
    %t = stablehlo.dynamic_update_slice %s, %new, %i, %zero, %zero
        : (tensor<4x64x64xf32>, tensor<1x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x64x64xf32>
    stablehlo.return %next, %t : tensor<i32>, tensor<4x64x64xf32>
  }
  return %0#1 : tensor<4x64x64xf32>
}
"""


@pytest.mark.parametrize(("unrolls", "matrices"), [(False, 3 + 2 + 2), (True, 3)])
def test_an_unrolled_loop_has_no_stacks_to_copy_from_and_to(unrolls: bool, matrices: int) -> None:
    kernels = Kernels("gpu", unrolls_loops=unrolls)
    works = [each for each in work_of(parse_module(STACK), kernels).visits if each is not None]
    moved = sum(
        accessed_bytes(step.op, [tensor_bytes(each.type) for each in (*step.op.operands, *step.op.results)], work)
        for step, work in works
        if step.op.name.removeprefix("stablehlo.") in ("dot_general", "dynamic_slice", "dynamic_update_slice")
    )
    assert moved // (64 * 64 * 4) == matrices


def test_calls_do_not_end_kernels() -> None:
    assert moved(CALLED, "cpu") == 2 * SIZE
    assert starts(CALLED, "cpu") == 1


def test_values_that_depend_on_no_data_are_computed_in_loops() -> None:
    multiply = next(size for op, _, size in accounts(LOOP, "cpu") if op.name == "stablehlo.multiply")
    broadcast = next(size for op, _, size in accounts(LOOP, "cpu") if op.name == "stablehlo.broadcast_in_dim")
    assert (multiply, broadcast) == (2 * SIZE, 0.0)


def test_without_a_flash_kernel_nothing_is_taken_for_attention() -> None:
    module = parse_module(CHAIN)
    kernels = replace(Kernels("gpu"), attention=(0.0, 0.0))
    assert [each[1] for each in work_of(module, kernels).visits if each] == [
        each[1] for each in work_of(module, Kernels("gpu")).visits if each
    ]
