"""A search leaves manual computations as they are, and shards the program around them."""

from __future__ import annotations

import re

import pytest

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.search.searched_module import manual_computations

MESH = 'sdy.mesh @m = <["x"=4, "y"=2]>'
IN, OUT = "tensor<4096x1024xf32>", "tensor<4096x1024xf32>"


def product(result: str, value: str, weight: str) -> str:
    types = "(tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>"
    return f"    {result} = stablehlo.dot_general {value}, {weight}, contracting_dims = [1] x [0] : {types}\n"


def manual(result: str, value: str, dims: str = '{"x"}, {}', axes: str = '"x", "y"', shard: str = "1024x1024") -> str:
    """Return a manual computation of one op."""
    sharding = f"[<@m, [{dims}]>]"
    return (
        f"    {result} = sdy.manual_computation({value}) in_shardings={sharding} out_shardings={sharding}\n"
        f"        manual_axes={{{axes}}} (%shard: tensor<{shard}xf32>) {{\n"
        f"      %inner = stablehlo.tanh %shard : tensor<{shard}xf32>\n"
        f"      sdy.return %inner : tensor<{shard}xf32>\n"
        f"    }} : (tensor<4096x1024xf32>) -> tensor<4096x1024xf32>\n"
    )


def program(body: str, sharding: str = "", mesh: str = MESH, functions: str = "") -> sdy.Program:
    text = (
        f"{mesh}\nfunc.func @main(%a: tensor<4096x1024xf32>{sharding}, %w: tensor<1024x1024xf32>)"
        f" -> tensor<4096x1024xf32> {{\n{body}    return %r : tensor<4096x1024xf32>\n}}\n{functions}"
    )
    return sdy.Program.from_text(text)


AROUND = product("%0", "%a", "%w") + manual("%1", "%0") + product("%r", "%1", "%w")
LOOP = (
    """    %i = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<8> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %l:2 = stablehlo.while(%k = %i, %v = %a) : tensor<i32>, tensor<4096x1024xf32>
    cond {
      %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
"""
    + manual("%1", "%v")
    + product("%2", "%1", "%w")
    + """      %next = stablehlo.add %k, %one : tensor<i32>
      stablehlo.return %next, %2 : tensor<i32>, tensor<4096x1024xf32>
    }
"""
    + product("%r", "%l#1", "%w")
)
CALL = "    %0 = func.call @layer(%a) : (tensor<4096x1024xf32>) -> tensor<4096x1024xf32>\n" + product("%r", "%0", "%w")
LAYER = (
    "func.func private @layer(%a: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {\n"
    + manual("%r", "%a")
    + "    return %r : tensor<4096x1024xf32>\n}\n"
)
CONSTRAINED = manual("%1", "%a", '{"x", ?}, {?}', '"x"').replace(
    "      sdy.return %inner ",
    '      %last = sdy.sharding_constraint %inner <@m, [{"y", ?}, {?}]> : tensor<1024x1024xf32>\n'
    "      sdy.return %last ",
)


@pytest.mark.parametrize(
    ("body", "functions"),
    [
        (AROUND, ""),
        (product("%0", "%a", "%w") + manual("%1", "%0", '{"x", ?}, {?}', '"x"') + product("%r", "%1", "%w"), ""),
        (
            product("%0", "%a", "%w")
            + manual("%1", "%0", '{"y", "x"}, {}', shard="512x1024")
            + product("%r", "%1", "%w"),
            "",
        ),
        (manual("%1", "%a") + manual("%2", "%1", '{}, {"y"}', shard="4096x512") + product("%r", "%2", "%w"), ""),
        (CONSTRAINED + product("%r", "%1", "%w"), ""),
        (LOOP, ""),
        (CALL, LAYER),
    ],
    ids=["full", "partial", "two axes", "two computations", "constraint inside", "loop", "function"],
)
@pytest.mark.parametrize("from_scratch", [False, True])
def test_the_rest_is_searched(body: str, functions: str, from_scratch: bool) -> None:
    written = program(body, functions=functions)
    plan = written.search(on="tpu_v5e", time_limit=20, from_scratch=from_scratch)
    assert plan.can_shard
    assert plan.cost.seconds_in_turn <= plan.before.seconds_in_turn
    before, after = (manual_computations(each.module) for each in (written, plan.program))
    assert [str(op) for op in after] == [str(op) for op in before]
    assert plan.program.prove().is_proved


REPLICATED = " {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}"


def test_the_plan_says_what_is_fixed() -> None:
    plan = program(AROUND).search(on="tpu_v5e", time_limit=20)
    spec = "P('x', None)"
    assert [(each.in_specs, each.out_specs) for each in plan.fixed] == [((spec,), (spec,))]
    assert plan.to_json()["fixed"] == [{"source": "line 4", "in_specs": [spec], "out_specs": [spec]}]
    assert re.search(r"manual computations, which stay as they are", plan.report())


def test_a_program_that_is_a_manual_computation_has_nothing_else_to_shard() -> None:
    plan = program(manual("%r", "%a")).search(on="tpu_v5e", time_limit=20)
    assert not plan.can_shard
    assert "No op can be sharded outside of the manual computations" in " ".join(plan.report().split())


def test_constraints_and_reshards_of_the_user_are_dropped_from_scratch_but_not_those_inside() -> None:
    reshard = "    %9 = sdy.reshard %0 <@m, [{}, {}]> : tensor<4096x1024xf32>\n"
    body = product("%0", "%a", "%w") + reshard + product("%r", "%9", "%w")
    plan = program(body).search(on="tpu_v5e", time_limit=20, from_scratch=True)
    assert "sdy.reshard" not in str(plan.program)
    assert plan.cost.seconds_in_turn < plan.before.seconds_in_turn / 2


@pytest.mark.parametrize(
    ("body", "options", "message"),
    [
        (AROUND, {"mesh": "x=2,y=2"}, 'is written for the mesh <["x"=4, "y"=2]>, so no shardings can be searched on'),
        (AROUND, {"mesh": "x=4,z=2"}, "is written for the mesh"),
        (AROUND, {"devices": 8}, "is written for the mesh"),
        (manual("%r", "%a", '{"x":(1)2}, {}', "", "4096x1024"), {}, "depends on the mesh"),
        (
            '    %r = sdy.all_slice [{"x"}, {}] %a out_sharding=<@m, [{"x"}, {}]> : tensor<4096x1024xf32>\n',
            {},
            "sdy.all_slice depends on the mesh",
        ),
    ],
)
def test_what_cannot_be_searched_is_one_diagnostic(body: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(SdyError, match=re.escape(message)) as error:
        program(body).search(on="tpu_v5e", time_limit=20, **options)  # pyright: ignore[reportCallIssue, reportArgumentType]: a table
    assert error.value.diagnostics[0].code == "SDY-T251"


def test_an_axis_of_a_manual_computation_that_divides_no_dim_cannot_be_searched() -> None:
    text = """sdy.mesh @m = <["x"=6, "y"=2]>
func.func @main(%a: tensor<8x16x2xi32>) -> tensor<8x16x2xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{}, {"y"}, {"x", ?}]>] out_shardings=[<@m, [{}, {"y"}, {?}]>]
      manual_axes={"y"} (%b: tensor<8x8x2xi32>) {
    sdy.return %b : tensor<8x8x2xi32>
  } : (tensor<8x16x2xi32>) -> tensor<8x16x2xi32>
  return %0 : tensor<8x16x2xi32>
}"""
    with pytest.raises(SdyError, match="depends on the mesh") as error:
        sdy.Program.from_text(text).search(on="tpu_v5e", time_limit=20)
    assert error.value.diagnostics[0].code == "SDY-T251"


def test_lint_reports_around_a_manual_computation() -> None:
    found = program(AROUND, REPLICATED).lint().findings
    assert [each.code for each in found if each.message.startswith("%a is replicated along")] == ["SDY-S401"]
