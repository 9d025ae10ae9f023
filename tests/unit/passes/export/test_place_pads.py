"""A few elements that masks place in a sharded dim are where the pad puts them."""

from __future__ import annotations

import numpy as np
import pytest
from support.execution.before_and_after import before_and_after
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

from sdy.cost.statistics import statistics_of
from sdy.dialects.ir.walk import of_class, pre_order
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.stablehlo.shape import ReshapeOp
from sdy.evidence.runs.arrays import random_inputs
from sdy.passes.export.optimize.place_pads import PlacePadsPass
from sdy.passes.run import run_passes
from sdy.program.program import Program

PLACES = [(0, 1), (63, 1), (30, 3), (61, 3), (15, 2), (14, 7), (40, 15)]  # of elements among 64 in four shards


def program(low: int, count: int, filler: float = 0.0, rows: int = 5) -> str:
    """Return a program that pads `count` elements to 64, of which `low` come first."""
    operand, result = f"tensor<{rows}x{count}xf32>", f"tensor<{rows}x64xf32>"
    return f"""
sdy.mesh @m = <["x"=4]>
func.func @main(%a: {operand}) -> ({result} {{sdy.sharding = #sdy.sharding<@m, [{{}}, {{"x"}}]>}}) {{
  %c = stablehlo.constant dense<{filler}> : tensor<f32>
  %0 = stablehlo.pad %a, %c, low = [0, {low}], high = [0, {64 - count - low}], interior = [0, 0]
    {{sdy.sharding = #sdy.sharding_per_value<[<@m, [{{}}, {{"x"}}]>]>}} : ({operand}, tensor<f32>) -> {result}
  return %0 : {result}
}}"""


@pytest.mark.parametrize("filler", [0.0, 2.5])
@pytest.mark.parametrize(("low", "count"), PLACES)
def test_elements_are_where_the_pad_puts_them(low: int, count: int, filler: float) -> None:
    before, after, module = before_and_after(program(low, count, filler), PlacePadsPass(), seed=0)
    assert of_class(pre_order(module), ReshapeOp)
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize(("low", "count"), PLACES)
def test_nothing_is_sent_to_place_elements(low: int, count: int) -> None:
    found = Program.from_text(program(low, count))
    assert count_of_collectives(found) == {}
    assert_same_on_shards(found, random_inputs(found.module, 0))
    assert found.prove().is_proved


def test_no_device_has_all_elements_of_the_dim() -> None:
    found = statistics_of(Program.from_text(program(63, 1, rows=1000)).partition().local)
    assert found.peak_bytes < 1000 * 64 * 4


@pytest.mark.parametrize(
    "amounts",
    ["low = [0, 8], high = [0, 40], interior = [0, 0]", "low = [0, 60], high = [0, -12], interior = [0, 0]"],
    ids=["as many elements as in a shard", "elements are removed"],
)
def test_other_pads_stay(amounts: str) -> None:
    module = parse_module(program(0, 16).replace("low = [0, 0], high = [0, 48], interior = [0, 0]", amounts))
    before = str(module)
    run_passes(make_context(), module, [PlacePadsPass()])
    assert str(module) == before
