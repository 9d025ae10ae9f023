"""Each value that a loop carries has one buffer.

The next value is written into it directly, or, in an iteration that still reads the current one, copied at its end.
"""

from __future__ import annotations

import pytest

from sdy.cost.memory import memory_curve, peak_bytes
from sdy.dialects.module_text import parse_module

ROW = "tensor<4x4xf32>"
DOT = f"contracting_dims = [1] x [0] : ({ROW}, {ROW}) -> {ROW}"
PRODUCT = f"%1 = stablehlo.dot_general %x, %x, {DOT}"


def matrices(*body: str) -> int:
    """Return the peak in matrices, of a loop that carries a matrix from `%x` to `%n`."""
    lines = "\n".join(body)
    module = parse_module(f"""
func.func @main(%a: {ROW}) -> {ROW} {{
  %0 = stablehlo.while(%x = %a) : {ROW}
  cond {{
    %go = stablehlo.custom_call @goes_on() : () -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  }} do {{
    {lines}
    stablehlo.return %n : {ROW}
  }}
  return %0 : {ROW}
}}""")
    assert max(memory_curve(module)) == peak_bytes(module)
    return peak_bytes(module) // 64


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        (("%n = stablehlo.negate %x : " + ROW,), 2),  # the argument, and what is carried, in the memory of the result
        ((PRODUCT.replace("%1", "%n"),), 3),  # a product cannot be written over its operand
        ((PRODUCT, "%n = stablehlo.negate %1 : " + ROW), 3),
        ((PRODUCT, "%n = stablehlo.add %1, %x : " + ROW), 3),
        (("%n = stablehlo.negate %x : " + ROW, f"stablehlo.custom_call @late(%x) : ({ROW}) -> ()"), 3),
    ],
)
def test_the_next_value_is_written_over_the_current_one(lines: tuple[str, ...], count: int) -> None:
    assert matrices(*lines) == count
