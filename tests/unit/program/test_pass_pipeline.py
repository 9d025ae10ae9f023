"""Textual pass pipelines on modules in memory."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.elementwise import AccuracyOp, TanhOp
from sdy.grammar.write import write_sharding
from sdy.upstream.pipelines import PropagationPipeline

TEXT = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture
def module() -> ModuleOp:
    return parse_module(TEXT)


def refusal(module: ModuleOp, pipeline: str) -> str:
    with pytest.raises(SdyError) as raised:
        sdy.run_passes(module, pipeline)
    return raised.value.diagnostics[0].code


def tanh_of(module: ModuleOp) -> AccuracyOp:
    return next(op for op in module.walk() if isinstance(op, TanhOp))


def test_a_pipeline_runs_in_place(module: ModuleOp) -> None:
    assert sdy.run_passes(module, "builtin.module(sdy-import-pipeline,sdy-basic-propagate)") == ()
    sharding = sharding_of(tanh_of(module).result)
    assert sharding is not None
    assert write_sharding(sharding) == '<@mesh, [{"x", ?}]>'


def test_remarks_of_passes_are_returned() -> None:
    text = TEXT.replace("stablehlo.tanh %a", "stablehlo.custom_call @mine(%a)").replace(
        ": tensor<4xf32>\n", ": (tensor<4xf32>) -> tensor<4xf32>\n", 1
    )
    module = parse_module(text)
    remarks = sdy.run_passes(module, "builtin.module(sdy-partition-pipeline,sdy-local-pipeline)")
    assert [remark.code for remark in remarks] != []


def test_errors_are_diagnostics(module: ModuleOp) -> None:
    assert refusal(module, "sdy-basic-propagate") == "SDY-T005"
    assert refusal(module, "builtin.module(sdy-basic-propagat)") == "SDY-T003"
    assert refusal(module, "builtin.module(sdy-basic-propagate{depth=3})") == "SDY-T004"


def test_an_invalid_module_is_an_error_before_any_pass(module: ModuleOp) -> None:
    tanh_of(module).operands = ()
    assert refusal(module, "builtin.module()").startswith("SDY-D")


def test_passes_may_be_given_as_values(module: ModuleOp) -> None:
    assert sdy.run_passes(module, [PropagationPipeline()]) == ()
    sharding = sharding_of(tanh_of(module).result)
    assert sharding is not None
    assert write_sharding(sharding) == '<@mesh, [{"x"}]>'
    with pytest.raises(SdyError, match=r"sdy\.run_passes: pass: expected ModulePass, got 'cse'"):
        sdy.run_passes(module, ["cse"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(SdyError, match=r"sdy\.run_passes: pipeline: expected str or Sequence, got 3"):
        sdy.run_passes(module, 3)  # pyright: ignore[reportArgumentType]
