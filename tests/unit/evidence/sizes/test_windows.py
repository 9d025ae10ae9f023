"""Dims along which windows move become smaller, and faults of halos and windows are still found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from support.execution.faults import faulty_copies

from sdy.evidence.runs.reduced import verify_reduced
from sdy.evidence.runs.verification import Verdict
from sdy.program.program import Program

LARGE = 120
ROWS, BATCH = '[{}, {"x"}, {}, {}]', '[{"x"}, {}, {}, {}]'


def header(sharding: str, result: str, source: str = "") -> str:
    """Return the start of a program of an image of `LARGE` rows and columns."""
    return f"""sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<2x{LARGE}x{LARGE}x2xf32> {{sdy.sharding = #sdy.sharding<@m, {sharding}>}},
    %k: tensor<{source or "3x3x2x4"}xf32>) -> tensor<{result}xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
"""


def convolution(sharding: str, stride: int, padding: int, window: int, dilation: int, groups: int = 1) -> str:
    count = (LARGE + 2 * padding - (window - 1) * dilation - 1) // stride + 1
    image, kernel = f"tensor<2x{LARGE}x{LARGE}x2xf32>", f"{window}x{window}x{2 // groups}x4"
    pads = f"pad = [[{padding}, {padding}], [{padding}, {padding}]]"
    steps = f"stride = [{stride}, {stride}], {pads}, rhs_dilate = [{dilation}, {dilation}]"
    return (
        f"{header(sharding, f'2x{count}x{count}x4', kernel)}"
        f"  %r = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
        f"window = {{{steps}}} {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : "
        f"({image}, tensor<{kernel}xf32>) -> "
        f"tensor<2x{count}x{count}x4xf32>\n  return %r : tensor<2x{count}x{count}x4xf32>\n}}"
    )


def convolution_by_feature(*arguments: Any) -> str:
    return convolution(*arguments, groups=2)


def pooling(sharding: str, stride: int, padding: int, window: int, dilation: int) -> str:
    count = (LARGE + 2 * padding - (window - 1) * dilation - 1) // stride + 1
    result = f"2x{count}x{count}x2"
    pads = f"dense<[[0, 0], [{padding}, {padding}], [{padding}, {padding}], [0, 0]]> : tensor<4x2xi64>"
    return f"""{header(sharding, result)}  %r = "stablehlo.reduce_window"(%a, %zero) <{{
      window_dimensions = array<i64: 1, {window}, {window}, 1>, window_strides = array<i64: 1, {stride}, {stride}, 1>,
      window_dilations = array<i64: 1, {dilation}, {dilation}, 1>, padding = {pads}}}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : (tensor<2x{LARGE}x{LARGE}x2xf32>, tensor<f32>) -> tensor<{result}xf32>
  return %r : tensor<{result}xf32>
}}"""


@pytest.mark.parametrize("make", [convolution, convolution_by_feature, pooling])
@pytest.mark.parametrize(
    ("sharding", "stride", "padding", "window", "dilation"),
    [(ROWS, 1, 1, 3, 1), (ROWS, 2, 2, 5, 1), (ROWS, 3, 0, 2, 1), (BATCH, 1, 0, 3, 2), (BATCH, 2, 3, 4, 1)],
)
def test_images_become_small(
    make: Callable[..., str], sharding: str, stride: int, padding: int, window: int, dilation: int
) -> None:
    partitioned = Program.from_text(make(sharding, stride, padding, window, dilation)).partition()
    found = verify_reduced(partitioned)
    assert found.verdict is Verdict.SAME
    assert found.sizes is not None
    assert all(each.after <= LARGE // 2 for each in found.sizes.changes if each.before == LARGE)
    for name, faulty in islice(faulty_copies(partitioned.local, seed=1), 2 if sharding == ROWS else 0):
        assert verify_reduced(replace(partitioned, local=faulty)).verdict is not Verdict.SAME, name
