"""The edits of the playground's controls, in the text of a program."""

from __future__ import annotations

from typing import cast

import pytest
from support.examples import EXAMPLES

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module, print_module
from sdy.tools.playground.answers import annotation_json, with_argument_lines, with_dim_axes, with_mesh_axes

(MATMUL,) = (path.read_text("utf-8") for path in EXAMPLES if path.stem == "matmul_case1")
PLAIN = """sdy.mesh @m = <["a"=2, "b"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>  // the devices
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = stablehlo.tanh %x : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
"""
Json = dict[str, object]


def test_the_axes_of_a_mesh_are_replaced_in_the_text() -> None:
    found = with_mesh_axes(PLAIN, "m", {"a": 8, "c": 2}, "program.mlir")
    assert found == PLAIN.replace('<["a"=2, "b"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>', '<["a"=8, "c"=2]>')
    assert with_mesh_axes(PLAIN, "n", {"a": 8}, "program.mlir") == PLAIN


def test_the_notes_of_jax_about_a_mesh_follow_it() -> None:
    found = with_mesh_axes(MATMUL, "mesh", {"x": 2, "y": 2}, "program.mlir")
    assert '\n  sdy.mesh @mesh = <["x"=2, "y"=2]>\n' in found
    assert "mhlo.num_partitions = 4 :" in found


def test_a_text_that_cannot_be_parsed_has_no_mesh_to_edit() -> None:
    with pytest.raises(SdyError, match=r"program\.mlir:1:.*SDY-P001"):
        with_mesh_axes("func.func @main(", "m", {"a": 8}, "program.mlir")


def test_long_headers_are_broken_into_lines() -> None:
    found = with_argument_lines(MATMUL, "program.mlir")
    assert found.splitlines()[2:8] == [
        "  func.func public @main(",
        '    %arg0: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},',
        '    %arg1: tensor<32x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}',
        "  ) -> (",
        '    tensor<16x24xf32> {jax.result_info = "result"}',
        "  ) {",
    ]
    assert print_module(parse_module(found)) == print_module(parse_module(MATMUL))
    assert with_argument_lines(found, "program.mlir") == found
    assert with_argument_lines(PLAIN, "program.mlir") == PLAIN


def test_axes_of_a_dim_leave_the_other_dims() -> None:
    found = with_dim_axes(sdy.Program.from_text(MATMUL), "%arg0", 1, ['"x"'], is_closed=False)
    assert found == MATMUL.replace('[{"x"}, {}]', '[{}, {"x", ?}]')


def test_values_without_an_annotation_get_one() -> None:
    program = sdy.Program.from_text(PLAIN)
    argument = with_dim_axes(program, "%x", 0, ['"b"', '"a"'], is_closed=True)
    assert 'tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", "a"}, {?}]>}' in argument
    result = with_dim_axes(program, "result[0]", 1, ['"a"'], is_closed=True)
    assert '-> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"a"}]>}) {' in result
    inside = with_dim_axes(program, "%y", 1, ['"a"'], is_closed=True)
    assert '%y_sharded = sdy.sharding_constraint %y <@m, [{?}, {"a"}]> : tensor<8x8xf32>' in inside


def test_an_annotation_lists_the_axes_that_each_dim_could_have() -> None:
    found = annotation_json(sdy.Program.from_text(MATMUL), "%arg0")
    choices: list[tuple[list[str], int]] = [
        ([], 1),
        (['"y"'], 2),
        (['"x"'], 4),
        (['"x"', '"y"'], 8),
        (['"y"', '"x"'], 8),
    ]
    listed = [{"axes": axes, "shards": shards} for axes, shards in choices]
    assert found == {
        "is_annotated": True,
        "dims": [
            {"size": 16, "axes": ['"x"'], "closed": True, "choices": listed},
            {"size": 32, "axes": [], "closed": True, "choices": listed},
        ],
    }


def test_a_value_without_dims_and_a_program_without_a_mesh_have_no_annotation() -> None:
    scalar = 'sdy.mesh @m = <["a"=2]>\nfunc.func @main(%x: tensor<f32>) -> tensor<f32> {\n  return %x : tensor<f32>\n}'
    assert annotation_json(sdy.Program.from_text(scalar), "%x") is None
    without_mesh = sdy.Program.from_text(PLAIN.partition("\n")[2])
    assert annotation_json(without_mesh, "%x") is None
    assert with_dim_axes(without_mesh, "%x", 0, [], is_closed=True) == without_mesh.origin.text


def test_meshes_of_many_axes_offer_few_lists_and_the_present_one() -> None:
    _, _, functions = PLAIN.partition("\n")
    annotated = '%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"d", "a", "b"}, {}]>}'
    mesh = 'sdy.mesh @m = <["a"=2, "b"=2, "c"=2, "d"=2]>'
    text = f"{mesh}\n{functions.replace('%x: tensor<8x8xf32>', annotated)}"
    found = annotation_json(sdy.Program.from_text(text), "%x")
    assert found is not None
    first, second = (cast(list[Json], dim["choices"]) for dim in cast(list[Json], found["dims"]))
    assert len(second) == 1 + 4 + 6
    assert first[-1] == {"axes": ['"d"', '"a"', '"b"'], "shards": 8}
