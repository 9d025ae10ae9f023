"""Texts of other front ends and partitioners: they are read, or a message says what is not read and what to write."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

import pytest
from support.execution.limits import limited
from support.random_programs.draft import Options
from support.random_programs.program import random_program

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import print_module
from sdy.dialects.unregistered import allow_unregistered_dialects
from sdy.program.program import Program
from sdy.tools.main import main

MESH = 'sdy.mesh @m = <["x"=2]>\n'
X = '#sdy.sharding<@m, [{"x"}, {}]>'
COMMANDS = (["verify"], ["verify", "--prove"], ["verify", "--reduced"], ["partition"], ["report"], ["report", "--json"],
            ["cost", "--on=h100"], ["lint"], ["search", "--on=h100"], ["explain", "--conflicts"])  # fmt: skip


def main_function(arguments: str, result: str, *ops: str) -> str:
    """Return a main function whose ops end with `%0`."""
    lines = [f"func.func @main({arguments}) -> {result} {{", *ops, f"return %0 : {result}", "}"]
    return "\n".join(lines) + "\n"


def sine(attributes: str, before: str = "", op_attributes: str = "") -> str:
    """Return a program whose argument and op have some attributes."""
    argument = f"%a: tensor<4x6xf32> {{{attributes}}}"
    body = f"  %0 = stablehlo.sine %a {op_attributes} : tensor<4x6xf32>\n  return %0 : tensor<4x6xf32>"
    return f"{before}{MESH}func.func @main({argument}) -> tensor<4x6xf32> {{\n{body}\n}}\n"


# The text, a part of the warning, and the hint.
IGNORED = {
    "misspelt sharding": (sine(f"sdy.shardings = {X}"), "[SDY-P011]", "did you mean sdy.sharding?"),
    "misspelt rule": (
        sine(f"sdy.sharding = {X}", op_attributes="{sdy.shardingrule = 1 : i64}"),
        "sdy.shardingrule of stablehlo.sine",
        "did you mean sdy.sharding_rule?",
    ),
    "one device": (sine('mhlo.sharding = "{maximal device=1}"'), "maximal device=1", "sdy.sharding_constraint"),
    "malformed": (sine('mhlo.sharding = "{devices=[2,1]<=[3]}"'), "devices=[2,1]<=[3]", "write its meaning"),
    "another dialect": (sine(f'tt.tensor_Sharding = "{{x}}", sdy.sharding = {X}'), "tt.tensor_Sharding", "write its"),
    "frontend": (sine('mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<"}'), "xla.sdy.sharding", "write"),
}


@pytest.mark.parametrize(("name", "command"), [*product(IGNORED, COMMANDS)], ids=str)
def test_every_command_warns_of_what_looks_like_a_sharding(
    name: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message, hint = IGNORED[name]
    path = tmp_path / "program.mlir"
    path.write_text(text)
    assert main([*command, str(path)]) == 0
    output = capsys.readouterr()
    assert message in output.err
    assert hint in output.err
    assert "warning" in output.err
    if command[0] == "verify":
        assert output.out.splitlines()[-1].startswith("1 annotation of the text ignored")


def test_shardings_of_gspmd_are_not_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(sine('mhlo.sharding = "{devices=[2,1]<=[2]}"'))
    assert main(["partition", str(path)]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert "%arg0: tensor<2x6xf32>" in output.out


FOREIGN = {
    "attribute of an argument": sine(f"vendor.kind = #vendor.kind<input>, sdy.sharding = {X}"),
    "attribute of an op": sine(f"sdy.sharding = {X}", op_attributes="{vendor.note = #vendor<note 3>}"),
    "type": sine("vendor.kind = !vendor.token"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_unregistered_dialects_are_read_on_request(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(FOREIGN[name])
    for command in COMMANDS:
        assert main([*command, str(path)]) == 2
        assert "pass --allow-unregistered-dialect" in capsys.readouterr().err
        assert main([*command, "--allow-unregistered-dialect", str(path)]) == 0
    allow_unregistered_dialects(False)


def test_mhlo_has_a_hint() -> None:
    with pytest.raises(SdyError) as caught:
        Program.from_text(sine("").replace("stablehlo.sine", "mhlo.sine"))
    assert caught.value.diagnostics[0].hint is not None
    assert "--hlo-legalize-to-stablehlo" in caught.value.diagnostics[0].hint


def test_constants_of_arith_are_read() -> None:
    text = main_function("", "tensor<2xf32>", "%0 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>")
    (result,) = Program.from_text(text).run()
    assert result.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("element", ["f32", "i64"])
def test_functions_may_end_with_the_return_of_stablehlo(element: str) -> None:
    tensor = f"tensor<8x8x{element}>"
    ends = f"%0 = stablehlo.add %a, %a : {tensor}\n  stablehlo.return %0 : {tensor}\n}}\n"
    text = f"""{MESH}func.func private @f(%a: {tensor}) -> {tensor} {{
  {ends}func.func @main(%a: {tensor} {{sdy.sharding = {X}}}) -> {tensor} {{
  %b = call @f(%a) : ({tensor}) -> {tensor}
  {ends.replace("%a", "%b")}"""
    program = Program.from_text(text)
    assert all(each.agrees for each in program.verify())
    assert program.prove().is_proved


WINDOW = {
    "reduce_window": ("window_strides", "base_dilations", "window_dilations"),
    "select_and_scatter": ("window_strides",),
    "convolution": ("window_strides", "lhs_dilation", "rhs_dilation", "window_reversal"),
}
WINDOW_OPS = {
    "reduce_window": """%0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1>, EMPTY}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      stablehlo.return %c : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>""",
    "select_and_scatter": """%0 = "stablehlo.select_and_scatter"(%a, %a, %z)
  <{window_dimensions = array<i64: 1, 1>, EMPTY}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      %p = stablehlo.compare GE, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      stablehlo.return %c : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>""",
    "convolution": """%b = stablehlo.reshape %a : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
  %k = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
  %c = "stablehlo.convolution"(%b, %k) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64,
    dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, EMPTY}>
    : (tensor<4x6x1xf32>, tensor<1x1x1xf32>) -> tensor<4x6x1xf32>
  %0 = stablehlo.reshape %c : (tensor<4x6x1xf32>) -> tensor<4x6xf32>""",
}


@pytest.mark.parametrize(("op", "name"), [(op, name) for op, names in WINDOW.items() for name in names])
def test_empty_arrays_of_windows_are_errors(op: str, name: str) -> None:
    kind = "i1" if name == "window_reversal" else "i64"
    ops = WINDOW_OPS[op].replace("EMPTY", f"{name} = array<{kind}>")
    zero = "%z = stablehlo.constant dense<0.0> : tensor<f32>"
    text = main_function("%a: tensor<4x6xf32>", "tensor<4x6xf32>", zero, ops)
    with pytest.raises(SdyError) as caught:
        Program.from_text(text)
    assert caught.value.diagnostics[0].code == "SDY-D014"
    assert name in caught.value.diagnostics[0].message


HUGE = (100_000_000, 2_000_000_000, 2**63 - 1)
TABLES = {
    "pairs": '"stablehlo.collective_permute"(%a) <{source_target_pairs = dense<0> : tensor<HUGEx2xi64>}>',
    "groups": '"stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<HUGEx1xi64>}>',
    "padding": """"stablehlo.reduce_window"(%a, %z)
  <{window_dimensions = array<i64: 1>, padding = dense<0> : tensor<HUGEx2xi64>}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      stablehlo.return %c : tensor<f32>
  })""",
    "layouts": """"stablehlo.custom_call"(%a) <{call_target_name = "f",
  operand_layouts = [dense<0> : tensor<HUGExindex>], result_layouts = [dense<0> : tensor<1xindex>]}>""",
}


@pytest.mark.parametrize(("name", "size"), [*product(TABLES, HUGE)])
def test_splats_of_huge_tables_are_errors_at_once(name: str, size: int) -> None:
    operands = "tensor<4xf32>, tensor<f32>" if name == "padding" else "tensor<4xf32>"
    op = f"{TABLES[name].replace('HUGE', str(size))} : ({operands}) -> tensor<4xf32>"
    text = main_function("%a: tensor<4xf32>, %z: tensor<f32>", "tensor<4xf32>", f"%0 = {op}")
    with limited(5, 1 << 30), pytest.raises(SdyError) as caught:
        Program.from_text(text)
    assert caught.value.diagnostics[0].span is not None
    assert caught.value.diagnostics[0].code in ("SDY-D014", "SDY-D016")


def test_a_gather_of_no_elements_cannot_have_a_result_with_some() -> None:
    numbers = "#stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>"
    op = f'"stablehlo.gather"(%a, %i) <{{dimension_numbers = {numbers}, slice_sizes = array<i64: 1, 0>}}>'
    for count in (1, 3):
        types = f"(tensor<5x3xf32>, tensor<{count}x2xi32>) -> tensor<{count}xf32>"
        header = f"func.func @main(%a: tensor<5x3xf32>, %i: tensor<{count}x2xi32>) -> tensor<{count}xf32>"
        with pytest.raises(SdyError) as caught:
            Program.from_text(f"{header} {{\n  %0 = {op} : {types}\n  return %0 : tensor<{count}xf32>\n}}")
        assert "slice size of dim 1" in caught.value.diagnostics[0].message


@pytest.mark.parametrize("seed", Random(1).sample(range(1000), 12))
def test_programs_with_collectives_on_global_tensors_are_verified(seed: int) -> None:
    partitioned = Program.from_text(random_program(seed, Options(ops=6, executable=True, max_devices=8))).partition()
    program = Program.from_text(print_module(partitioned.global_module))
    assert all(each.agrees for each in program.verify())
