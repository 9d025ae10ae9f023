"""Custom calls that read full dims get them, where Shardy's rules would let shards pass."""

from __future__ import annotations

import pytest

from sdy.program.program import Program

MATRIX, VECTOR, NUMBERS = "tensor<4x4xf32>", "tensor<4xf32>", "tensor<4xi32>"
ON_FULL_DIMS = {
    f"%0 = stablehlo.custom_call @Cholesky(%a) : ({MATRIX}) -> {MATRIX}": MATRIX,
    f"%0:2 = stablehlo.custom_call @Eigh(%a) : ({MATRIX}) -> ({MATRIX}, {VECTOR})": MATRIX,
    f"%0:2 = stablehlo.custom_call @mhlo.topk(%a) : ({VECTOR}) -> ({VECTOR}, {NUMBERS})": VECTOR,
    f"%0 = stablehlo.custom_call @_SPMDInternalOp_RotateRight(%a) : ({VECTOR}) -> {VECTOR}": VECTOR,
}


def partitioned(line: str, kind: str) -> str:
    sharding = '[{"x"}, {}]' if kind == MATRIX else '[{"x"}]'
    argument = f"%a: {kind} {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}"
    result = "%0#0" if ":2" in line else "%0"
    text = (
        f'sdy.mesh @m = <["x"=2]>\nfunc.func @main({argument}) -> {kind} {{\n  {line}\n  return {result} : {kind}\n}}\n'
    )
    return str(Program.from_text(text).partition().local)


@pytest.mark.parametrize("line", ON_FULL_DIMS)
def test_a_full_dim_is_gathered(line: str) -> None:
    kind = ON_FULL_DIMS[line]
    local = partitioned(line, kind)
    assert "stablehlo.all_gather" in local
    assert line.partition(" : ")[2] in local


def test_a_kept_dim_of_an_approximate_top_k_is_gathered() -> None:
    types = f"({VECTOR}, {NUMBERS}, tensor<f32>, tensor<i32>) -> ({VECTOR}, {NUMBERS})"
    text = f"""sdy.mesh @m = <["x"=2]>
func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {{
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}}
func.func @main(%a: {VECTOR} {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}]>}}, %b: {NUMBERS}, %c: tensor<f32>,
    %d: tensor<i32>) -> ({VECTOR}, {NUMBERS}) {{
  %0:2 = stablehlo.custom_call @ApproxTopK(%a, %b, %c, %d) {{called_computations = [@greater],
    mhlo.backend_config = {{reduction_dim = 0 : i64, top_k = 4 : i64}}}} : {types}
  return %0#0, %0#1 : {VECTOR}, {NUMBERS}
}}
"""
    assert all(each.agrees for each in Program.from_text(text).verify())


def test_a_call_on_elements_runs_on_shards() -> None:
    assert "all_gather" not in partitioned(f"%0 = stablehlo.custom_call @mhlo.erf(%a) : ({VECTOR}) -> {VECTOR}", VECTOR)
