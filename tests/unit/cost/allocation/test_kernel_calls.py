"""Calls of functions that a compiler fuses into one kernel, and results of the program that calls compute."""

from __future__ import annotations

import pytest

from sdy.cost.allocation.fusion import Fusion
from sdy.cost.memory import memory_curve, peak_bytes, values_at_peak
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.module_text import parse_module
from sdy.dialects.stablehlo.elementwise import NegateOp

ROW = "tensor<16xf32>"
BYTES = 64
SQUARE = f"%0 = stablehlo.multiply %a, %a : {ROW}\n%1 = stablehlo.negate %0 : {ROW}\nreturn %1 : {ROW}"
STORED = f"%0 = stablehlo.custom_call @stored(%a) : ({ROW}) -> {ROW}"


def peak_rows(*lines: str, called: str = SQUARE, returned: str = "%r") -> float:
    """Return the peak, in rows, of a function of one argument `%a`, which may call @f."""
    body = "\n".join([*lines, f"return {returned} : {ROW}"])
    module = parse_module(f"""
func.func @main(%a: {ROW}) -> {ROW} {{
{body}
}}
func.func private @f(%a: {ROW}) -> {ROW} {{
{called}
}}
func.func private @g(%a: {ROW}) -> {ROW} {{
%0 = call @f(%a) : ({ROW}) -> {ROW}
return %0 : {ROW}
}}""")
    assert max(memory_curve(module)) == peak_bytes(module) == sum(values_at_peak(module).values.values())
    return peak_bytes(module) / BYTES


def call(result: str, operand: str, name: str = "f") -> str:
    return f"{result} = call @{name}({operand}) : ({ROW}) -> {ROW}"


@pytest.mark.parametrize("name", ["f", "g"])
def test_a_call_of_elementwise_ops_is_fused(name: str) -> None:
    """The argument and the result."""
    assert peak_rows(call("%0", "%a", name), call("%1", "%0", name), f"%r = stablehlo.negate %1 : {ROW}") == 2


def test_the_result_of_a_call_is_stored_in_place() -> None:
    assert peak_rows(STORED, call("%r", "%0")) == 2


@pytest.mark.parametrize(("kind", "count"), [("negate", 3), ("tanh", 4)])
def test_an_expensive_call_that_two_kernels_read_is_computed_once(kind: str, count: int) -> None:
    lines = (
        call("%0", "%a"),
        f"%1 = stablehlo.add %0, %a : {ROW}",
        f"%2 = stablehlo.custom_call @stored(%1) : ({ROW}) -> {ROW}",
        f"%3 = stablehlo.add %2, %0 : {ROW}",
        f"%r = stablehlo.custom_call @stored(%3) : ({ROW}) -> {ROW}",
    )
    assert peak_rows(*lines, called=f"%0 = stablehlo.{kind} %a : {ROW}\nreturn %0 : {ROW}") == count


def test_a_function_that_calls_itself_is_no_kernel() -> None:
    module = parse_module(f"""
func.func @main(%a: {ROW}) -> {ROW} {{
{call("%r", "%a")}
return %r : {ROW}
}}
func.func private @f(%a: {ROW}) -> {ROW} {{
{call("%0", "%a")}
return %0 : {ROW}
}}""")
    assert peak_bytes(module) == 2 * BYTES


def test_a_result_that_a_call_computes_is_counted_once() -> None:
    """The argument, the result, and the two values beside it that @f reads."""
    stored = "\n".join(
        [
            STORED,
            f"%1 = stablehlo.custom_call @second(%0) : ({ROW}) -> {ROW}",
            f"%2 = stablehlo.custom_call @last(%0, %1) : ({ROW}, {ROW}) -> {ROW}",
            f"return %2 : {ROW}",
        ]
    )
    assert peak_rows(call("%r", "%a"), called=stored) == peak_rows(call("%r", "%a", "g"), called=stored) == 4


def test_a_call_stores_values_in_idle_memory_of_its_result() -> None:
    """The first value inside is stored in the memory of the result, which is idle until the last call."""
    stored = f"{STORED}\n%1 = stablehlo.custom_call @last(%0) : ({ROW}) -> {ROW}\n"
    last = f"%2 = stablehlo.custom_call @end(%1) : ({ROW}) -> {ROW}\nreturn %2 : {ROW}"
    assert peak_rows(call("%r", "%a"), called=stored + last) == 3


def test_a_function_without_a_body_is_no_kernel() -> None:
    module = parse_module("""
func.func private @outside(tensor<4xf32>) -> tensor<4xf32>
func.func private @negated(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}""")
    kernels = Fusion(functions_of(module))
    assert kernels.kernel_named("outside") is None
    found = kernels.kernel_named("negated")
    assert found is not None
    assert found.kind is NegateOp
