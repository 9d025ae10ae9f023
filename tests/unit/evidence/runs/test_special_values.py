"""The special values of a program, and the detection of an incorrect partitioned program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdy.dialects.module_text import parse_module
from sdy.evidence.runs.argument_uses import argument_uses
from sdy.evidence.runs.special_values import special_inputs, special_rounds
from sdy.interpreter.arrays.element_types import Array
from sdy.program.program import Program

TEXT = """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %i: tensor<i32>, %n: tensor<i32>,
                %k: tensor<4xi32>, %p: tensor<4xi1>, %z: tensor<3xcomplex<f32>>) -> tensor<3xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:3 = stablehlo.while(%m = %n, %s = %i, %v = %a) : tensor<i32>, tensor<i32>, tensor<8xf32>
  cond {
    %q = stablehlo.compare LT, %m, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  } do {
    %next = stablehlo.add %m, %one : tensor<i32>
    %t = func.call @negated(%s) : (tensor<i32>) -> tensor<i32>
    stablehlo.return %next, %t, %v : tensor<i32>, tensor<i32>, tensor<8xf32>
  }
  %1 = stablehlo.dynamic_slice %0#2, %0#1, sizes = [3] : (tensor<8xf32>, tensor<i32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func private @negated(%i: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.negate %i : tensor<i32>
  return %0 : tensor<i32>
}
"""


def test_uses_are_found_through_loops_and_calls() -> None:
    found = argument_uses(parse_module(TEXT))
    assert [sorted(use.indexed_sizes) for use in found] == [[], [8], [], [], [], []]
    assert [use.ends_loops for use in found] == [False, False, True, False, False, False]


def test_uses_are_found_through_branches_and_reductions() -> None:
    text = """
    func.func @main(%a: tensor<8xf32>, %which: tensor<i32>, %i: tensor<i32>, %many: tensor<4xi32>, %start: tensor<i32>,
                    %unused: tensor<i32>) -> (tensor<3xf32>, tensor<i32>) {
      %least = "stablehlo.reduce"(%many, %start) <{dimensions = array<i64: 0>}> ({
      ^bb0(%x: tensor<i32>, %y: tensor<i32>):
        %less = stablehlo.minimum %x, %y : tensor<i32>
        stablehlo.return %less : tensor<i32>
      }) : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
      %j = "stablehlo.case"(%which) ({
        stablehlo.return %i : tensor<i32>
      }, {
        stablehlo.return %least : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      %0 = stablehlo.dynamic_slice %a, %j, sizes = [3] : (tensor<8xf32>, tensor<i32>) -> tensor<3xf32>
      return %0, %unused : tensor<3xf32>, tensor<i32>
    }"""
    found = argument_uses(parse_module(text))
    assert [sorted(use.indexed_sizes) for use in found] == [[], [2, 8], [8], [8], [8], []]


@pytest.mark.parametrize(
    ("line", "sizes"),
    [
        ("stablehlo.dynamic_update_slice %a, %u, %j : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> ", [8]),
        (
            '"stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], '
            "start_index_map = [0], index_vector_dim = 0>, slice_sizes = array<i64: 8>}> "
            ": (tensor<8xf32>, tensor<1xi32>) -> ",
            [8],
        ),
        (
            '"stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0],'
            " scatter_dims_to_operand_dims = [0], index_vector_dim = 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): "
            "stablehlo.return %y : tensor<f32> }) : (tensor<8xf32>, tensor<1xi32>, tensor<2xf32>) -> ",
            [8],
        ),
        ("stablehlo.add %a, %a : (tensor<8xf32>, tensor<8xf32>) -> ", []),
    ],
)
def test_indices_of_every_op_that_has_some_are_found(line: str, sizes: list[int]) -> None:
    text = f"""
    func.func @main(%i: tensor<1xi32>, %a: tensor<8xf32>, %u: tensor<2xf32>) -> tensor<8xf32> {{
      %j = stablehlo.reshape %i : (tensor<1xi32>) -> tensor<i32>
      %0 = {line}tensor<8xf32>
      return %0 : tensor<8xf32>
    }}"""
    assert [sorted(use.indexed_sizes) for use in argument_uses(parse_module(text))] == [sizes, [], []]


def test_inputs_have_the_types_of_the_arguments_and_the_special_values_of_their_round() -> None:
    program = Program.from_text(TEXT)
    rounds = dict(special_inputs(program.module, 0))
    for inputs in rounds.values():
        assert [(array.shape, array.dtype) for array in inputs] == list(program.input_types)
        assert 0 <= int(inputs[2]) < 8  # what ends a loop stays small
    floats: dict[str, Array] = {name: inputs[0].astype(np.float64) for name, inputs in rounds.items()}
    assert np.isnan(floats["NaN"]).any()
    assert np.isinf(floats["infinities"]).any()
    assert (np.signbit(floats["negative zeros alone"]) & (floats["negative zeros alone"] == 0)).all()
    assert len(np.unique(floats["ties"])) < 8
    indices = {int(inputs[1]) for seed in range(20) for _, inputs in special_inputs(program.module, seed)}
    assert {-(2**31), 2**31 - 1, 8, 7, -1} <= indices
    again = dict(special_inputs(program.module, 0))
    assert all(
        np.array_equal(one, two, equal_nan=one.dtype.kind in "fc")
        for one, two in zip(rounds["NaN"], again["NaN"], strict=True)
    )


def test_an_index_too_narrow_for_the_edges_of_a_dim_is_the_least_or_the_largest() -> None:
    text = """func.func @main(%x: tensor<64xf32>, %i: tensor<i4>) -> tensor<1xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<64xf32>, tensor<i4>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}"""
    (_, index) = dict(special_inputs(parse_module(text), 0))["NaN"]
    assert int(index) in (-8, 7)


def test_a_wrong_sign_of_zero_is_detected() -> None:
    text = """
    func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.abs %a : tensor<4xf32>
      %1 = stablehlo.negate %0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    }"""
    right = Program.from_text(text).partition()
    wrong = replace(right, local=parse_module(str(right.local).replace("stablehlo.negate", "stablehlo.abs")))
    assert all(each.agrees for each in special_rounds(right, 0))
    found = {each.name: each for each in special_rounds(wrong, 0)}
    assert found["negative zeros alone"].comparisons[0].problem == "at [0]: 0.0 instead of -0.0"


def test_the_sign_of_a_sum_that_narrow_floats_round_is_no_difference() -> None:
    text = """
    func.func @main(%a: tensor<8192xbf16>, %b: tensor<8192xbf16>, %c: tensor<8192xbf16>) -> tensor<8192xbf16> {
      %0 = stablehlo.add %a, %b : tensor<8192xbf16>
      %1 = stablehlo.add %0, %c : tensor<8192xbf16>
      %2 = stablehlo.sqrt %1 : tensor<8192xbf16>
      return %2 : tensor<8192xbf16>
    }"""
    program = Program.from_text(text).partition()
    other = str(program.local).replace("add %0, %1", "add %1, %2").replace("add %3, %2", "add %0, %3")
    assert other != str(program.local)
    assert all(each.agrees for each in special_rounds(replace(program, local=parse_module(other)), 0))
