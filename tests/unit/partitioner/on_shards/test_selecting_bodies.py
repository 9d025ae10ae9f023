"""Which bodies that compare and select may reduce parts before they reduce the whole."""

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
    """A body with arguments %p, %q."""
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


def verdict(lines: list[str], element: str, *inits: Scalar | None) -> bool:
    """Of such a body."""
    return can_reduce_shards_first(body_of(lines, element), inits)


def test_the_larger_integer_has_no_order() -> None:
    assert verdict([GREATER, SELECT, RETURN], "i32", None)


def test_without_a_word_on_nan_the_larger_float_depends_on_the_order() -> None:
    assert not verdict([GREATER, SELECT, RETURN], "f32", -math.inf)


def test_nan_that_wins() -> None:
    lines = [
        GREATER.replace("%b", "%g"),
        IS_NAN,
        "%b = stablehlo.or %g, %n : tensor<i1>",
        SELECT,
        RETURN,
    ]
    assert verdict(lines, "f32", -math.inf)
    assert verdict(lines, "f32", math.inf)


def test_an_unknown_float_in_front_of_each_part_may_show() -> None:
    lines = [GREATER.replace("%b", "%g"), IS_NAN, "%b = stablehlo.or %g, %n : tensor<i1>", SELECT, RETURN]
    assert not verdict(lines, "f32", None)


@pytest.mark.parametrize(
    "lines",
    [
        ["%r = stablehlo.add %p, %q : tensor<{e}>", RETURN],
        ["%n = stablehlo.negate %q : tensor<{e}>", GREATER, SELECT.replace("%q", "%n"), RETURN],
        [SELECT.replace("%b", "%c"), RETURN],  # the program's own boolean, not the body's
    ],
)
def test_what_else_a_body_does_is_not_looked_into(lines: list[str]) -> None:
    assert not verdict(lines, "i32", 0)


def test_the_total_order_of_floats_is_not_looked_into() -> None:
    compare = "%b = stablehlo.compare GT, %p, %q, TOTALORDER : (tensor<{e}>, tensor<{e}>) -> tensor<i1>"
    assert not verdict([compare, SELECT, RETURN], "f32", -math.inf)


def test_the_first_and_the_last_of_all() -> None:
    last = ["%b = stablehlo.compare NE, %p, %p : (tensor<{e}>, tensor<{e}>) -> tensor<i1>", SELECT, RETURN]
    assert verdict(last, "i32", 0)
    first = ["%b = stablehlo.compare EQ, %p, %p : (tensor<{e}>, tensor<{e}>) -> tensor<i1>", SELECT, RETURN]
    assert verdict(first, "i32", 0)


def test_inits_behind_all_elements_lose_as_those_in_front_do() -> None:
    body = body_of([GREATER, SELECT, RETURN], "i32")
    assert ignores_trailing_inits(body, [-(2**31)])


def test_inits_behind_all_elements_win_where_the_last_one_does() -> None:
    last = body_of(["stablehlo.return %q : tensor<{e}>"], "i32")
    assert can_reduce_shards_first(last, [0])
    assert not ignores_trailing_inits(last, [0])
