"""Locations in a text name the lines of the program that it was generated from, and its arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module, parse_module_with_locations
from sdy.dialects.text.source_lines import scope_of_name, source_lines
from sdy.tools.main import main

TEXT = """
#loc1 = loc("params['up']")
sdy.mesh @m = <["x"=4]>
func.func @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>} loc("params['up']"),
                %arg1: tensor<6x8xf32> loc("x")) -> tensor<f32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<6x8xf32> loc(#loc6)
  %1 = stablehlo.add %0, %0 : tensor<6x8xf32> loc(#loc6)
  %c = stablehlo.constant dense<0.0> : tensor<f32> loc(unknown)
  %2 = "stablehlo.reduce"(%1, %c) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32> loc(unknown), %b: tensor<f32> loc(unknown)):
    %3 = stablehlo.add %a, %b : tensor<f32> loc(unknown)
    stablehlo.return %3 : tensor<f32> loc(unknown)
  }) : (tensor<6x8xf32>, tensor<f32>) -> tensor<f32> loc(fused[unknown, "model.py":30:2])
  return %2 : tensor<f32> loc(unknown)
} loc(#loc)
#loc = loc(unknown)
#loc4 = loc("dir/model.py":20:4 to :9)
#loc5 = loc("dir/train.py":7:0)
#loc6 = loc("jit(f)/add"(callsite("layer"(#loc4) at #loc5)))
"""


def test_lines_are_those_of_the_innermost_calls() -> None:
    _, locations = parse_module_with_locations(TEXT, "program.mlir")
    assert source_lines(locations) == {6: "model.py:20", 7: "model.py:20", 9: "model.py:30"}


def test_an_alias_that_contains_itself_names_no_line() -> None:
    text = "func.func @main() { return loc(#loc1) }\n#loc1 = loc(callsite(#loc1 at #loc1))\n"
    assert source_lines(parse_module_with_locations(text, "program.mlir")[1]) == {}


def test_reports_and_remarks_show_the_lines_and_the_names_of_arguments() -> None:
    program = sdy.Program.from_text(TEXT, "program.mlir")
    assert "model.py:20" in program.without_optimizer().report() or "model.py:30" in program.report()
    assert "params['up']" in program.report()
    assert program.explain("model.py:30").startswith("%2 (stablehlo.reduce, line 9 (model.py:30))")
    sources = {each.span.source for each in program.partition().remarks if each.span is not None}
    assert "model.py:20" in sources


def test_errors_show_the_line() -> None:
    wrong = TEXT.replace("array<i64: 0, 1>", "array<i64: 0, 2>")
    with pytest.raises(SdyError, match=r"program\.mlir:9:8 \(model\.py:30\): error: "):
        sdy.Program.from_text(wrong, "program.mlir")


def test_the_command_explains_names_and_lines_of_locations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(TEXT)
    assert main(["explain", str(file), 'params["up"]']) == 0
    assert capsys.readouterr().out.startswith("params['up'] (argument, line 4)")
    assert main(["explain", str(file), "model.py:20"]) == 0
    assert capsys.readouterr().out.startswith("%0 (stablehlo.add, line 6 (model.py:20))")


BROKEN = """func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.tanh %missing : tensor<8xf32> loc(#loc3)
  %1 = stablehlo.tann %a : tensor<8xf32> loc("f"("train.py":7:2))
  return %0 : tensor<8xf32> loc(#loc)
}
#loc = loc(unknown)
#loc1 = loc("/home/me/model.py":20:4 to :9)
#loc2 = loc("/home/me/train.py":3:0)
#loc3 = loc(callsite("model"(#loc1) at #loc2))
"""


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (BROKEN.replace("tann", "tanh"), "model.py:20"),  # found at the end of the text
        (BROKEN.replace("%missing", "%a"), "train.py:7"),  # found at once, before the aliases are parsed
    ],
)
def test_mistakes_name_the_line_that_was_lowered(text: str, source: str) -> None:
    with pytest.raises(SdyError) as raised:
        parse_module(text)
    (diagnostic,) = raised.value.diagnostics
    assert [note.message for note in diagnostic.notes] == [f"generated from {source}"]


def test_mistakes_without_a_location_have_no_note() -> None:
    with pytest.raises(SdyError) as raised:
        parse_module(BROKEN.replace(" loc(#loc3)", "").replace("tann", "tanh"))
    assert raised.value.diagnostics[0].notes == ()


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("jit(step)/jvp(blocks.0)/mlp/dot_general", "blocks.0/mlp"),
        ("jit(step)/transpose(jvp(blocks.0))/mlp/dot_general", "transpose(blocks.0/mlp)"),
        ("jit(step)/transpose(jvp(vmap()))/mul", "transpose"),
        ("jit(step)/jvp()/while/body/closed_call/layer/mlp/layer/mlp/jit(relu)", "layer/mlp"),
        ("jit(step)/transpose(jvp())/while/body/checkpoint/rematted_computation/mlp/tanh", "recompute(mlp)"),
        ("jit(f)/branch_1_fun/a/add", "a"),
        ("transpose(blocks.0/mlp)/dot_general", "transpose(blocks.0/mlp)"),  # as we write it
        ("recompute(blocks.0)/add", "recompute(blocks.0)"),
        ("add", ""),
        ("jit(f)/add", ""),
    ],
)
def test_scopes_are_those_of_the_user(name: str, scope: str) -> None:
    assert scope_of_name(name) == scope
    assert scope_of_name(f"{scope}/add") == scope


def test_the_scope_is_read_from_the_name_of_a_location() -> None:
    text = TEXT.replace('"jit(f)/add"', '"jit(f)/transpose(jvp(blocks.0))/mlp/add"').replace(
        "dir/model.py", "dir/site-packages/m.py"
    )
    program = sdy.Program.from_text(text, "program.mlir")
    assert program.origin.scopes == {6: "transpose(blocks.0/mlp)", 7: "transpose(blocks.0/mlp)"}
    assert program.origin.place(6) == "train.py:7 in transpose(blocks.0/mlp)"  # the innermost line of the user
