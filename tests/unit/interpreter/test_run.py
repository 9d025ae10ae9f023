from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from support.execution.run_text import error_of, f32, run

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.interpreter.run import interpret

ADD = """func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %b : tensor<2xf32>
  return %0 : tensor<2xf32>
}"""


def test_function_returns_its_results() -> None:
    (result,) = run(ADD, f32(1, 2), f32(3, 4))
    assert result.tolist() == [4, 6]
    assert result.dtype == np.float32


def test_functions_call_functions() -> None:
    (result,) = run(
        """func.func @main(%a: tensor<f32>) -> tensor<f32> {
          %0 = call @twice(%a) : (tensor<f32>) -> tensor<f32>
          return %0 : tensor<f32>
        }
        func.func private @twice(%a: tensor<f32>) -> tensor<f32> {
          %0 = stablehlo.add %a, %a : tensor<f32>
          return %0 : tensor<f32>
        }""",
        np.array(3, np.float32),
    )
    assert result == 6


def test_number_of_inputs_must_match_arguments() -> None:
    found = error_of(ADD, f32(1, 2))
    assert (found.code, found.span and found.span.line) == ("SDY-X006", 1)
    assert "expected 2 inputs for the arguments of @main, got 1" in found.message


def test_inputs_must_have_the_type_of_their_argument() -> None:
    found = error_of(ADD, f32(1, 2), f32(1, 2, 3))
    assert found.code == "SDY-X007"
    assert "shape [3]" in found.message
    assert "tensor<2xf32>" in found.message
    assert error_of(ADD, f32(1, 2), np.array([1.0, 2.0])).code == "SDY-X007"


def test_dynamic_dims_accept_any_size() -> None:
    text = ADD.replace("tensor<2xf32>", "tensor<?xf32>")
    assert run(text, f32(1, 2, 3), f32(1, 1, 1))[0].tolist() == [2, 3, 4]


def test_op_without_a_kernel_is_reported_with_its_location() -> None:
    found = error_of(
        """
        func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
          %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2xf32>
          return %0 : tensor<2xf32>
        }""",
        f32(1, 2),
    )
    assert found.code == "SDY-X002"
    assert "stablehlo.uniform_quantize" in found.message
    assert found.span is not None
    assert (found.span.file, found.span.line) == ("test.mlir", 3)


def test_unsupported_element_type_is_reported() -> None:
    found = error_of("""
        func.func @main() {
          %0 = stablehlo.iota dim = 0 : tensor<4xi3>
          return
        }""")
    assert found.code == "SDY-X001"
    assert "i3" in found.message


def test_unknown_function_is_reported_with_existing_ones() -> None:
    with pytest.raises(SdyError) as raised:
        interpret(parse_module(ADD), [], "other")
    (found,) = raised.value.diagnostics
    assert found.code == "SDY-X004"
    assert found.hint == "functions with a body: @main"


def test_infinite_recursion_is_an_error() -> None:
    found = error_of("""
        func.func @main() {
          call @main() : () -> ()
          return
        }""")
    assert found.code == "SDY-X012"


def test_values_are_freed_after_their_last_use() -> None:
    kind = "tensor<65536xf64>"
    lines = "\n".join(f"  %v{i + 1} = stablehlo.add %v{i}, %v{i} : {kind}" for i in range(400))
    module = parse_module(f"func.func @main(%v0: {kind}) -> {kind} {{\n{lines}\n  return %v400 : {kind}\n}}")
    tracemalloc.start()
    interpret(module, [np.zeros(65536)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * 65536 * 8
