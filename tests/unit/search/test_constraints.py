"""Constraints are listed by source line: one for all layers that share it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

import sdy
from sdy.diagnostics.wording import first_names
from sdy.model.axis import AxisRef
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.search.plans.plan import PlannedValue, by_line

ROWS = TensorSharding("mesh", (DimSharding((AxisRef("x"),)), DimSharding()))
COLUMNS = TensorSharding("mesh", (DimSharding(), DimSharding((AxisRef("x"),))))


def test_values_of_a_line_with_one_sharding_are_one_constraint() -> None:
    values = [
        PlannedValue("%1", "tensor<8x8xf32>", ROWS, "train.py:7"),
        PlannedValue("%2", "tensor<8x8xf32>", COLUMNS, "train.py:7"),
        PlannedValue("%3", "tensor<8x8xf32>", ROWS, "train.py:7"),
        PlannedValue("%4", "tensor<4x8xf32>", ROWS, "train.py:7"),
        PlannedValue("%5", "tensor<8x8xf32>", ROWS, "train.py:9"),
    ]
    found = [(each.source, each.type, each.spec, each.values) for each in by_line(values)]
    assert found == [
        ("train.py:7", "tensor<8x8xf32>", "P('x', None)", ("%1", "%3")),
        ("train.py:7", "tensor<8x8xf32>", "P(None, 'x')", ("%2",)),
        ("train.py:7", "tensor<4x8xf32>", "P('x', None)", ("%4",)),
        ("train.py:9", "tensor<8x8xf32>", "P('x', None)", ("%5",)),
    ]


def test_values_of_unknown_lines_stay_apart() -> None:
    values = [PlannedValue(name, "tensor<8x8xf32>", ROWS) for name in ("%1", "%2")]
    assert [each.values for each in by_line(values)] == [("%1",), ("%2",)]


def test_only_the_first_names_are_shown() -> None:
    assert first_names(["a", "b", "c"]) == "a, b, c"
    assert first_names(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_a_plan_for_layers_has_one_constraint_for_their_line() -> None:
    def layers(weights: Any, x: Any) -> Any:
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return x

    weights = [jax.ShapeDtypeStruct((4096, 4096), jnp.bfloat16)] * 4
    program = sdy.from_jax(layers, weights, jax.ShapeDtypeStruct((8192, 4096), jnp.bfloat16))
    rows = {f"weights[{number}]": "P('data', None)" for number in range(4)}
    plan = program.search(mesh="data=8", fix={**rows, "x": "P()", "result": "P()"}, constraints=9, time_limit=20)
    first = plan.constraints[0]
    assert (first.spec, len(first.values)) == ("P('data', None)", 3)
    assert first.source.startswith("test_constraints.py:")
    assert len(plan.constraints) < len(plan.inside)
    assert "test_constraints.py:" in plan.report()
    fixed = {**rows, "x": "P()", "result": "P()"}
    for most in (0, 1):
        limited = program.search(mesh="data=8", fix=fixed, constraints=most, time_limit=20)
        assert len(limited.inside) == most
        assert plan.cost.seconds <= limited.cost.seconds


def test_a_number_of_constraints_is_not_negative() -> None:
    program = sdy.from_jax(jnp.sin, jax.ShapeDtypeStruct((8,), jnp.float32))
    with pytest.raises(sdy.SdyError, match="constraints: expected a number from 0 on, got -1"):
        program.search(mesh="data=8", constraints=-1)


def test_a_plan_without_shardings_says_what_becomes_faster() -> None:
    small = """
    sdy.mesh @m = <["x"=4]>
    func.func @main(%a: tensor<64x64xf32>, %w: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
        -> tensor<64x64xf32> {
      %0 = stablehlo.dot %a, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      return %0 : tensor<64x64xf32>
    }"""
    report = sdy.Program.from_text(small).search(from_scratch=True, time_limit=20).report(width=200)
    assert "Drop the annotations that the program has" in report
    assert "stays as it is" not in report
    plain = sdy.Program.from_text(small.replace(' {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}', ""))
    assert "the program stays as it is" in plain.search(time_limit=20).report(width=200)
