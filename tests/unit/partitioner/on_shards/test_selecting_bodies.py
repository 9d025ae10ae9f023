"""Bodies that compare and select: which may reduce shards first?"""

from __future__ import annotations

import math

import pytest
from xdsl.ir import Block

from sdy.dialects.constants.elements import Scalar
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import parse_module
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.partitioner.on_shards.selecting_bodies import can_reduce_shards_first, ignores_trailing_inits

GREATER = "%b = stablehlo.compare GT, %p, %q : (tensor<{e}>, tensor<{e}>) -> tensor<i1>"
IS_NAN = "%n = stablehlo.compare NE, %p, %p : (tensor<{e}>, tensor<{e}>) -> tensor<i1>"
SELECT = "%r = stablehlo.select %b, %p, %q : tensor<i1>, tensor<{e}>"
RETURN = "stablehlo.return %r : tensor<{e}>"


def body_of(lines: list[str], element: str) -> Block:
    """Return a body with arguments %p and %q."""
    body = "\n".join(lines).format(e=element)
    text = f"""func.func @main(%a: tensor<8x{element}>, %z: tensor<{element}>, %c: tensor<i1>) -> tensor<{element}> {{
      %0 = "stablehlo.reduce"(%a, %z) <{{dimensions = array<i64: 0>}}> ({{
      ^bb0(%p: tensor<{element}>, %q: tensor<{element}>):
        {body}
      }}) : (tensor<8x{element}>, tensor<{element}>) -> tensor<{element}>
      return %0 : tensor<{element}>
    }}"""
    op = main_function(parse_module(text)).body.block.first_op
    assert isinstance(op, ReduceOp)
    return op.body.block


def is_reducible(lines: list[str], element: str, *inits: Scalar | None) -> bool:
    """Return whether the body may reduce shards first."""
    return can_reduce_shards_first(body_of(lines, element), inits)


def test_larger_integer() -> None:
    assert is_reducible([GREATER, SELECT, RETURN], "i32", None)


def test_larger_float_without_nan_check() -> None:
    assert not is_reducible([GREATER, SELECT, RETURN], "f32", -math.inf)


def test_larger_float_with_nan_check() -> None:
    lines = [
        GREATER.replace("%b", "%g"),
        IS_NAN,
        "%b = stablehlo.or %g, %n : tensor<i1>",
        SELECT,
        RETURN,
    ]
    assert is_reducible(lines, "f32", -math.inf)
    assert is_reducible(lines, "f32", math.inf)


def test_larger_float_with_unknown_init() -> None:
    lines = [GREATER.replace("%b", "%g"), IS_NAN, "%b = stablehlo.or %g, %n : tensor<i1>", SELECT, RETURN]
    assert not is_reducible(lines, "f32", None)


@pytest.mark.parametrize(
    "lines",
    [
        ["%r = stablehlo.add %p, %q : tensor<{e}>", RETURN],
        ["%n = stablehlo.negate %q : tensor<{e}>", GREATER, SELECT.replace("%q", "%n"), RETURN],
        [SELECT.replace("%b", "%c"), RETURN],  # a boolean from outside the body
    ],
)
def test_other_bodies_are_rejected(lines: list[str]) -> None:
    assert not is_reducible(lines, "i32", 0)


def test_total_order_is_rejected() -> None:
    compare = "%b = stablehlo.compare GT, %p, %q, TOTALORDER : (tensor<{e}>, tensor<{e}>) -> tensor<i1>"
    assert not is_reducible([compare, SELECT, RETURN], "f32", -math.inf)


def test_first_and_last_element() -> None:
    last = ["%b = stablehlo.compare NE, %p, %p : (tensor<{e}>, tensor<{e}>) -> tensor<i1>", SELECT, RETURN]
    assert is_reducible(last, "i32", 0)
    first = ["%b = stablehlo.compare EQ, %p, %p : (tensor<{e}>, tensor<{e}>) -> tensor<i1>", SELECT, RETURN]
    assert is_reducible(first, "i32", 0)


def test_trailing_inits_of_maximum() -> None:
    body = body_of([GREATER, SELECT, RETURN], "i32")
    assert ignores_trailing_inits(body, [-(2**31)])


def test_trailing_inits_of_last_element() -> None:
    last = body_of(["stablehlo.return %q : tensor<{e}>"], "i32")
    assert can_reduce_shards_first(last, [0])
    assert not ignores_trailing_inits(last, [0])
