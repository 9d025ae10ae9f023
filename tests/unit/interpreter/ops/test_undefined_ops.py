# ruff: noqa: E501 (a line of a program is a line here)
"""Ops that are not defined for their sizes or options, and runs that need too much memory: one diagnostic each."""

from __future__ import annotations

import numpy as np
import pytest
from support.execution.limits import limited
from support.execution.run_text import diagnostic_of, run_op

from sdy.evidence.runs.arrays import random_inputs
from sdy.interpreter.arrays.element_types import Array
from sdy.program.program import Program

M = np.ones((2, 3), np.float32)
INDEX = np.zeros((1, 1), np.int32)
STATE = np.ones(1, np.uint64)

CASES: list[tuple[str, str, dict[str, Array], str]] = [
    (
        '"stablehlo.einsum"(%m, %m) <{einsum_config = "y"}> : (tensor<2x3xf32>, tensor<2x3xf32>)',
        "tensor<2x3xf32>",
        {"m": M},
        "got y",
    ),
    (
        '"stablehlo.einsum"(%m, %m) <{einsum_config = "ab->a"}> : (tensor<2x3xf32>, tensor<2x3xf32>)',
        "tensor<2xf32>",
        {"m": M},
        "got ab->a",
    ),
    (
        '"stablehlo.unary_einsum"(%m) <{einsum_config = "ab->c"}> : (tensor<2x3xf32>)',
        "tensor<2xf32>",
        {"m": M},
        "got ab->c",
    ),
    (
        "stablehlo.real_dynamic_slice %m, %i, %i, %i : (tensor<2x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)",
        "tensor<?x?xf32>",
        {"m": M, "i": np.zeros(2, np.int32)},
        "got [0, 0]",
    ),
    (
        '"stablehlo.gather"(%m, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], '
        "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 0, 3>}> : (tensor<2x3xf32>, tensor<1x1xi32>)",
        "tensor<1x3xf32>",
        {"m": M, "i": INDEX},
        "got sizes [0, 3]",
    ),
    (
        "stablehlo.dynamic_iota %i, dim = 0 : (tensor<3xi32>)",
        "tensor<?xi32>",
        {"i": np.ones(3, np.int32)},
        "give the shape [1, 1, 1], but its result has ['?']",
    ),
]


@pytest.mark.parametrize(("line", "result", "operands", "words"), CASES)
def test_undefined_op(line: str, result: str, operands: dict[str, Array], words: str) -> None:
    diagnostic = diagnostic_of(lambda: run_op(f"{line} -> {result}", result, **operands))
    assert diagnostic.code == "SDY-X018"
    assert words in diagnostic.message
    assert diagnostic.span is not None


@pytest.mark.parametrize(
    ("algorithm", "state", "bits", "words"),
    [
        ("THREE_FRY", "tensor<1xui64>", "tensor<4xui32>", "2 elements, got tensor<1xui64>"),
        ("PHILOX", "tensor<4xui64>", "tensor<4xui32>", "2 or 3 elements, got tensor<4xui64>"),
        ("PHILOX", "tensor<2xui64>", "tensor<4xi4>", "8, 16, 32 or 64 bits, got tensor<4xi4>"),
    ],
)
def test_undefined_random_bits(algorithm: str, state: str, bits: str, words: str) -> None:
    program = Program.from_text(f"""
func.func @main(%s: {state}) -> ({state}, {bits}) {{
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = {algorithm} : ({state}) -> ({state}, {bits})
  return %0, %1 : {state}, {bits}
}}""")
    diagnostic = diagnostic_of(lambda: program.verify())
    assert diagnostic.code == "SDY-X018"
    assert words in diagnostic.message
    assert diagnostic.span is not None


@pytest.mark.parametrize("size", [10**9, 10**18])
def test_too_little_memory(size: int) -> None:
    large = f"tensor<{size}xf32>"
    iota = Program.from_text(f"""
func.func @main() -> {large} {{
  %0 = stablehlo.iota dim = 0 : {large}
  return %0 : {large}
}}""")
    argument = Program.from_text(f"func.func @main(%a: {large}) -> {large} {{ return %a : {large} }}")
    for program in (iota, argument):
        with limited(5, 1 << 30):
            refused = diagnostic_of(lambda program=program: program.verify())
            # Without the estimate of `verify`, the allocation fails.
            failed = diagnostic_of(lambda program=program: program.run_flat(random_inputs(program.module, 0)))
        assert (refused.code, failed.code) == ("SDY-X150", "SDY-X017")
        assert refused.span is not None
        assert failed.span is not None
