"""Index tensors whose elements are their own position along a dim."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp, ReturnOp

from sdy.dialects.ir.walk import ops_of
from sdy.dialects.module_text import parse_module
from sdy.passes.import_.explicit_gather_scatter_batching import position_dim

SMALL = "%a = stablehlo.iota dim = 0 : tensor<4xi32>\n"
TALL = "%a = stablehlo.iota dim = 0 : tensor<4x3xi32>\n"


def dim_of(lines: str, result: str) -> int | None:
    """Return the position dim of `%r`."""
    text = f"func.func @main(%x: {result}) -> {result} {{\n{lines}\nreturn %r : {result}\n}}"
    module = parse_module(text, "test.mlir")
    (func,) = ops_of(module, FuncOp)
    (end,) = ops_of(func, ReturnOp)
    return position_dim(end.operands[0])


def clamped(low: int, high: int) -> str:
    return (
        f"{SMALL}%low = stablehlo.constant dense<{low}> : tensor<i32>\n"
        f"%high = stablehlo.constant dense<{high}> : tensor<i32>\n"
        "%r = stablehlo.clamp %low, %a, %high : (tensor<i32>, tensor<4xi32>, tensor<i32>) -> tensor<4xi32>"
    )


def wrapped(direction: str, limit: int) -> str:
    """Return ops that add 4 to the indices for which the comparison with `limit` holds."""
    return (
        f"{SMALL}%limit = stablehlo.constant dense<{limit}> : tensor<4xi32>\n"
        "%size = stablehlo.constant dense<4> : tensor<4xi32>\n"
        f"%test = stablehlo.compare {direction}, %a, %limit : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>\n"
        "%sum = stablehlo.add %a, %size : tensor<4xi32>\n"
        "%r = stablehlo.select %test, %sum, %a : tensor<4xi1>, tensor<4xi32>"
    )


@pytest.mark.parametrize(
    ("lines", "result", "dim"),
    [
        ("%r = stablehlo.iota dim = 1 : tensor<2x4xi32>", "tensor<2x4xi32>", 1),
        ("%r = stablehlo.iota dim = 0 : tensor<127xi8>", "tensor<127xi8>", 0),
        ("%r = stablehlo.iota dim = 0 : tensor<200xi8>", "tensor<200xi8>", None),  # wraps around at 128
        ("%r = stablehlo.iota dim = 0 : tensor<200xui8>", "tensor<200xui8>", 0),
        ("%r = stablehlo.iota dim = 0 : tensor<4xf32>", "tensor<4xf32>", None),
        ("%r = stablehlo.add %x, %x : tensor<4xi32>", "tensor<4xi32>", None),
        (SMALL + "%r = stablehlo.reshape %a : (tensor<4xi32>) -> tensor<4x1xi32>", "tensor<4x1xi32>", 0),
        (TALL + "%r = stablehlo.reshape %a : (tensor<4x3xi32>) -> tensor<4x1x3xi32>", "tensor<4x1x3xi32>", 0),
        (TALL + "%r = stablehlo.reshape %a : (tensor<4x3xi32>) -> tensor<3x4xi32>", "tensor<3x4xi32>", None),
        (
            SMALL + "%r = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<4xi32>) -> tensor<4x4xi32>",
            "tensor<4x4xi32>",
            1,
        ),
        (clamped(0, 3), "tensor<4xi32>", 0),
        (clamped(-5, 9), "tensor<4xi32>", 0),
        (clamped(1, 3), "tensor<4xi32>", None),
        (clamped(0, 2), "tensor<4xi32>", None),
        (wrapped("LT", 0), "tensor<4xi32>", 0),
        (wrapped("LT", 1), "tensor<4xi32>", None),
        (wrapped("GT", 0), "tensor<4xi32>", None),
    ],
)
def test_position_dim(lines: str, result: str, dim: int | None) -> None:
    assert dim_of(lines, result) == dim


def test_an_argument_has_no_position_dim() -> None:
    assert dim_of("%r = stablehlo.negate %x : tensor<4xi32>", "tensor<4xi32>") is None
