"""Loops that never end are errors, as soon as what decides whether they go on repeats."""

from __future__ import annotations

import numpy as np
import pytest
from support.execution.run_text import error_of, run

from sdy.dialects.module_text import parse_module
from sdy.dialects.stablehlo.control import WhileOp
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.ops.control import Repetition, decision_of

# `%i` counts by what the body adds to it; `%x` is another value, which the body changes in each iteration.
LOOP = """
    func.func @main(%start: tensor<i32>, %stop: tensor<i32>, %x: tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>) {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %0:3 = stablehlo.while(%i = %start, %j = %stop, %a = %x) : tensor<i32>, tensor<i32>, tensor<2xf32>
      cond {{
        %goes_on = stablehlo.compare {condition} : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %goes_on : tensor<i1>
      }} do {{
        {body}
        %b = stablehlo.add %a, %a : tensor<2xf32>
        stablehlo.return {carried}, %b : tensor<i32>, tensor<i32>, tensor<2xf32>
      }}
      return %0#0, %0#2 : tensor<i32>, tensor<2xf32>
    }}"""
ADD = "%next = stablehlo.add %i, %one : tensor<i32>"
ENDLESS = {
    "a counter that stays as it is": LOOP.format(condition="LT, %i, %j", body="", carried="%i, %j"),
    "two values that change places": LOOP.format(condition="NE, %i, %one", body="", carried="%j, %i"),
    "a condition that no value changes": LOOP.format(condition="LT, %one, %stop", body=ADD, carried="%next, %j"),
    "a counter that stops before the end": LOOP.format(
        condition="LT, %i, %j",
        body=f"{ADD} %quotient = stablehlo.divide %j, %i : tensor<i32> "
        "%least = stablehlo.minimum %next, %quotient : tensor<i32>",
        carried="%least, %j",
    ),
}
INPUTS = np.array(2, np.int32), np.array(9, np.int32), np.ones(2, np.float32)


@pytest.mark.parametrize("name", ENDLESS)
def test_a_loop_that_never_ends_is_an_error(name: str) -> None:
    found = error_of(ENDLESS[name], *INPUTS)
    assert found.code == "SDY-X019"
    assert found.span is not None
    assert found.span.line == 4


def test_the_message_lists_the_values_that_decide() -> None:
    assert "(#0, #1) are the same as in" in error_of(ENDLESS["two values that change places"], *INPUTS).message
    assert "no value that the loop changes" in error_of(ENDLESS["a condition that no value changes"], *INPUTS).message


def test_other_values_may_repeat() -> None:
    zeros: Array = np.zeros(2, np.float32)
    count, doubled = run(LOOP.format(condition="LT, %i, %j", body=ADD, carried="%next, %j"), *INPUTS[:2], zeros)
    assert (count, doubled.tolist()) == (9, [0, 0])


def deciding(text: str) -> object:
    (loop,) = (op for op in parse_module(text).walk() if isinstance(op, WhileOp))
    decision = decision_of(loop)
    return None if decision is None else decision.values


def test_values_decide_through_the_body() -> None:
    """Those of one iteration decide in the next one what the condition compares."""
    assert deciding(LOOP.format(condition="LT, %i, %stop", body=ADD, carried="%next, %j")) == [0]
    assert deciding(LOOP.format(condition="LT, %i, %stop", body="", carried="%j, %i")) == [0, 1]
    sums = "%s = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0] : "
    sums = f"%c = stablehlo.constant dense<0.0> : tensor<f32> {sums} (tensor<2xf32>, tensor<f32>) -> tensor<f32>"
    sums += "%n = stablehlo.convert %s : (tensor<f32>) -> tensor<i32>"
    assert deciding(LOOP.format(condition="LT, %i, %stop", body=sums, carried="%n, %j")) == [0, 2]


def test_random_numbers_may_end_a_loop() -> None:
    """`rng` returns others each time, though its operands are the same."""
    body = "%shape = stablehlo.constant dense<> : tensor<0xi64> "
    body += "%r = stablehlo.rng %one, %stop, %shape, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<0xi64>)"
    assert deciding(LOOP.format(condition="LT, %i, %j", body=f"{body} -> tensor<i32>", carried="%r, %j")) is None


@pytest.mark.parametrize("before", [0, 1, 5, 100])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_cycle_is_found_soon(before: int, length: int) -> None:
    """At the latest when three times as many iterations have run as there are different ones."""
    repetition, most = Repetition(), 3 * (before + length)
    states = [*range(-before, 0), *(iteration % length for iteration in range(most))]
    first = [repetition.has([np.array(state)]) for state in states].index(True)
    assert before + length <= first <= most
