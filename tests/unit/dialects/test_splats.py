"""Tests of values whose elements are all equal."""

from __future__ import annotations

import pytest

from sdy.dialects.ir.symbols import main_block
from sdy.dialects.module_text import parse_module
from sdy.dialects.splats import splat_of

TEXT = """
func.func @main(%arg0: tensor<f32>) -> tensor<2x3xf32> {
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<6xf32>
  %2 = stablehlo.reshape %1 : (tensor<6xf32>) -> tensor<2x3xf32>
  %3 = sdy.constant dense<2> : tensor<4xi32>
  %4 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %5 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<2xf32>
  return %2 : tensor<2x3xf32>
}
"""


@pytest.mark.parametrize(("number", "element"), [(0, 1.0), (1, 1.0), (2, 1.0), (3, 2), (4, None), (5, None)])
def test_the_literal_of_equal_elements_is_found(number: int, element: float | None) -> None:
    value = list(main_block(parse_module(TEXT)).ops)[number].results[0]
    found = splat_of(value)
    assert (None if found is None else found.get_values()[0]) == element
