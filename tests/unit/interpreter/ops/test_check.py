from __future__ import annotations

import numpy as np
import pytest
from support.execution.run_text import error_of, f32, i32, run

from sdy.interpreter.arrays.element_types import Array


def program(check: str, kind: str = "tensor<2xf32>") -> str:
    return f"func.func @main(%a: {kind}, %b: {kind}) {{\n  {check}\n  return\n}}"


NEXT = np.nextafter(np.float32(1), np.float32(2))


@pytest.mark.parametrize(
    ("check", "left", "right"),
    [
        ("check.expect_eq %a, %b : tensor<2xf32>", f32(1, np.nan), f32(1, np.nan)),
        ("check.expect_almost_eq %a, %b : tensor<2xf32>", f32(1, 2), f32(1.00001, 2)),
        ("check.expect_close %a, %b : tensor<2xf32>, tensor<2xf32>", f32(1, 2), f32(float(NEXT), 2)),
        ("stablehlo.custom_call @check.eq(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()", f32(1, 2), f32(1, 2)),
        (
            "stablehlo.custom_call @check.expect_close(%a, %b) {max_ulp_difference = 1 : i64} "
            ": (tensor<2xf32>, tensor<2xf32>) -> ()",
            f32(1, 2),
            f32(float(NEXT), 2),
        ),
    ],
)
def test_checks_that_hold(check: str, left: Array, right: Array) -> None:
    assert run(program(check), left, right) == []


@pytest.mark.parametrize(
    "check",
    [
        "check.expect_eq %a, %b : tensor<2xf32>",
        "check.expect_almost_eq %a, %b : tensor<2xf32>",
        "check.expect_close %a, %b : tensor<2xf32>, tensor<2xf32>",
        "check.expect_almost_eq_const %a, dense<[1.0, 2.5]> : tensor<2xf32>",
        "stablehlo.custom_call @check.expect_eq(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()",
        "stablehlo.custom_call @check.expect_almost_eq(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()",
        "stablehlo.custom_call @check.expect_close(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()",
    ],
)
def test_failed_checks_report_index_and_both_values(check: str) -> None:
    found = error_of(program(check), f32(1, 2), f32(1, 2.5))
    assert found.code == "SDY-X008"
    assert found.message.endswith("2.500000e+00, got 2.000000e+00 at index [1]")
    assert found.span is not None
    assert found.span.line == 2


def test_bounds_of_the_distance_in_floats() -> None:
    check = "check.expect_close %a, %b {min_ulp_difference = 1 : ui64, max_ulp_difference = 2 : ui64}"
    text = program(f"{check} : tensor<2xf32>, tensor<2xf32>")
    assert run(text, f32(1, 1), f32(1, float(NEXT))) == []
    assert error_of(text, f32(1, 1), f32(1, 1)).code == "SDY-X008"
    assert error_of(text, f32(1, 1), f32(1, 1.001)).code == "SDY-X008"


def test_tolerance_is_an_attribute() -> None:
    text = program("check.expect_almost_eq %a, %b {tolerance = 1.0 : f64} : tensor<2xf32>")
    assert run(text, f32(1, 2), f32(1.5, 2)) == []


def test_constants_are_compared_bit_for_bit() -> None:
    text = program("check.expect_eq_const %a, dense<[1, 2]> : tensor<2xi32>", "tensor<2xi32>")
    assert run(text, i32(1, 2), i32(0, 0)) == []
    found = error_of(text, i32(3, 3), i32(0, 0))
    assert found.message.startswith("expected 1, got 3 at index [0]")
    assert "2 elements differ" in found.message
