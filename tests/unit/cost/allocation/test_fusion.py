"""Values that a compiler does not store: those of fused ops, reshaped ones, and results in the memory of operands."""

from __future__ import annotations

import pytest

from sdy.cost.memory import bytes_of_tensor, memory_curve, peak, peak_bytes, values_at_peak
from sdy.dialects.module_text import parse_module

ROW, FLAT = "tensor<4x4xf32>", "tensor<16xf32>"
BYTES = 64


def dot(result: str, lhs: str, rhs: str = "%a") -> str:
    """Return the line of a contraction, whose operands and result are stored."""
    return f"{result} = stablehlo.dot_general {lhs}, {rhs}, contracting_dims = [1] x [0] : ({ROW}, {ROW}) -> {ROW}"


def elementwise(result: str, kind: str, *operands: str) -> str:
    return f"{result} = stablehlo.{kind} {', '.join(operands)} : {ROW}"


def matrices(*lines: str, returned: str = "", is_compiled: bool = True) -> int:
    """Return the peak in matrices, of a function of one matrix `%a` that returns a matrix, or an element of `%r`."""
    end = f"return {returned} : {ROW}"
    if not returned:
        end = f"%s = stablehlo.custom_call @element(%r) : ({ROW}) -> tensor<f32>\nreturn %s : tensor<f32>"
    result_type = ROW if returned else "tensor<f32>"
    module = parse_module("\n".join([f"func.func @main(%a: {ROW}) -> {result_type} {{", *lines, end, "}"]))
    assert max(memory_curve(module)) == peak_bytes(module) == sum(values_at_peak(module).values.values())
    return peak(module, bytes_of_tensor, is_compiled=is_compiled) // BYTES


@pytest.mark.parametrize(("is_compiled", "count"), [(True, 2), (False, 4)])
def test_a_chain_of_elementwise_ops_stores_its_last_result(is_compiled: bool, count: int) -> None:
    lines = (
        elementwise("%0", "negate", "%a"),
        elementwise("%1", "add", "%0", "%a"),
        elementwise("%r", "multiply", "%1", "%0"),
    )
    assert matrices(*lines, is_compiled=is_compiled) == count


def test_the_operands_of_a_fused_op_live_until_it_is_computed() -> None:
    """The sum reads `%0` in place of `%1`, so `%0` is alive beside the second product."""
    lines = dot("%0", "%a"), elementwise("%1", "negate", "%0"), dot("%2", "%a"), elementwise("%r", "add", "%1", "%2")
    assert matrices(*lines) == 3


def test_an_op_that_a_contraction_reads_is_stored() -> None:
    assert matrices(elementwise("%0", "negate", "%a"), dot("%r", "%0")) == 3


@pytest.mark.parametrize(("kind", "count"), [("negate", 3), ("exponential", 4)])
def test_an_expensive_function_that_two_kernels_read_is_computed_once(kind: str, count: int) -> None:
    first, second = elementwise("%0", kind, "%a"), elementwise("%1", "add", "%0", "%a")
    assert matrices(first, second, dot("%2", "%1"), elementwise("%r", "add", "%2", "%0")) == count


def test_an_expensive_function_of_one_kernel_is_not_stored() -> None:
    lines = elementwise("%0", "exponential", "%a"), elementwise("%1", "negate", "%0")
    assert matrices(*lines, elementwise("%r", "add", "%0", "%1")) == 2


def test_a_contraction_reads_a_transposed_operand_as_it_is_stored() -> None:
    transposed = f"%1 = stablehlo.transpose %0, dims = [1, 0] : ({ROW}) -> {ROW}"
    assert matrices(dot("%0", "%a"), transposed, dot("%r", "%1", "%0")) == 3
    stored = f"%2 = stablehlo.custom_call @stored(%1, %0) : ({ROW}, {ROW}) -> {ROW}"
    assert matrices(dot("%0", "%a"), transposed, stored, elementwise("%r", "negate", "%2")) == 4


def test_a_reshaped_value_has_the_memory_of_its_operand() -> None:
    reshaped = f"%1 = stablehlo.reshape %0 : ({ROW}) -> {FLAT}"
    both = f"%r = stablehlo.custom_call @stored(%1, %0) : ({FLAT}, {ROW}) -> {ROW}"
    assert matrices(dot("%0", "%a"), reshaped, both) == 3


def test_an_elementwise_op_overwrites_an_operand_that_is_not_read_later() -> None:
    lines = dot("%0", "%a"), elementwise("%r", "negate", "%0")
    assert matrices(*lines) == 2
    assert matrices(lines[0], elementwise("%1", "negate", "%0"), dot("%r", "%1", "%0")) == 4


def test_a_value_is_stored_in_the_memory_of_a_result_until_that_is_computed() -> None:
    two = dot("%0", "%a"), dot("%1", "%0")
    assert matrices(*two, dot("%2", "%1"), elementwise("%r", "negate", "%2"), returned="%r") == 3
    assert matrices(*two, returned="%1") == 3  # the product reads `%0` while it writes `%1`
    assert matrices(two[0], elementwise("%1", "negate", "%0"), returned="%1") == 2


def test_a_small_value_does_not_take_the_memory_of_a_large_result() -> None:
    large = "tensor<16x16xf32>"
    body = f"{dot('%0', '%a')}\n%r = stablehlo.custom_call @large(%0) : ({ROW}) -> {large}"
    module = parse_module(f"func.func @main(%a: {ROW}) -> {large} {{\n{body}\nreturn %r : {large}\n}}")
    assert memory_curve(module) == [18 * BYTES, 18 * BYTES, 17 * BYTES]
