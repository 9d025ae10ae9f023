"""One element of a sharded dim, such as the last position, is looked up; the tensor is not moved to slice it."""

from __future__ import annotations

import numpy as np
import pytest
from support.execution.on_shards import assert_same_on_shards, count_of_collectives
from support.execution.proved_faults import check_proof_and_faults

from sdy.cost.collectives import CollectiveKind
from sdy.evidence.runs.arrays import random_inputs
from sdy.program.program import Program

MESHES = ('<["x"=4, "y"=2]>', '<["x"=4, "y"=2], device_ids=[6, 1, 0, 3, 2, 7, 4, 5]>')


def static(start: int, sharding: str, element: str = "f32", sizes: str = "8x16x6", mesh: str = MESHES[0]) -> Program:
    """Return a program that takes one element along dim 1."""
    first, _, last = sizes.split("x")
    kind, kept = f"tensor<{sizes}x{element}>", f"tensor<{first}x1x{last}x{element}>"
    return Program.from_text(f"""
sdy.mesh @m = {mesh}
func.func @main(%a: {kind} {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}) -> {kept} {{
  %0 = stablehlo.slice %a [0:{first}, {start}:{start + 1}, 0:{last}] : ({kind}) -> {kept}
  return %0 : {kept}
}}""")


def dynamic(sharding: str, sizes: str) -> Program:
    """Return a program that takes one element along dim 1 at a start that is an argument, and some along dim 2."""
    first, _, last = sizes.split("x")
    kind, kept = f"tensor<{sizes}xf32>", f"tensor<{first}x1x{int(last) // 2}xf32>"
    return Program.from_text(f"""
sdy.mesh @m = {MESHES[0]}
func.func @main(%a: {kind} {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}, %i: tensor<i32>) -> {kept} {{
  %j = stablehlo.constant dense<2> : tensor<i32>
  %0 = stablehlo.dynamic_slice %a, %i, %i, %j, sizes = [{first}, 1, {int(last) // 2}]
    : ({kind}, tensor<i32>, tensor<i32>, tensor<i32>) -> {kept}
  return %0 : {kept}
}}""")


@pytest.mark.parametrize("start", [0, 3, 4, 15])
@pytest.mark.parametrize("sharding", ['[{}, {"x"}, {}]', '[{"y"}, {"x"}, {}]', '[{}, {"y", "x"}, {}]'])
@pytest.mark.parametrize("mesh", MESHES)
def test_one_element_is_added_up(start: int, sharding: str, mesh: str) -> None:
    program = static(start, sharding, mesh=mesh)
    assert {*count_of_collectives(program)} <= {
        CollectiveKind.ALL_REDUCE,
        CollectiveKind.ALL_GATHER,
    }
    assert program.prove().is_proved
    assert_same_on_shards(program, random_inputs(program.module, 3))


@pytest.mark.parametrize(("start", "end"), [(0, 3), (1, 4), (13, 16), (5, 7), (7, 10), (3, 5)])
@pytest.mark.parametrize("sharding", ['[{}, {"x"}, {}]', '[{"y"}, {"x"}, {}]', '[{}, {"y", "x"}, {}]'])
@pytest.mark.parametrize("mesh", MESHES)
def test_a_few_elements_are_added_up(start: int, end: int, sharding: str, mesh: str) -> None:
    program = Program.from_text(f"""
sdy.mesh @m = {mesh}
func.func @main(%a: tensor<8x16x6xf32> {{sdy.sharding = #sdy.sharding<@m, {sharding}>}})
    -> (tensor<8x{end - start}x3xf32> {{sdy.sharding = #sdy.sharding<@m, [{{}}, {{}}, {{}}]>}}) {{
  %0 = stablehlo.slice %a [0:8, {start}:{end}, 0:6:2] : (tensor<8x16x6xf32>) -> tensor<8x{end - start}x3xf32>
  return %0 : tensor<8x{end - start}x3xf32>
}}""")
    sent = sum(each.bytes_sent for each in program.cost("tpu_v5e").collectives)
    assert sent <= 2 * (8 * (end - start) * 3 * 4)
    assert program.prove().is_proved
    assert_same_on_shards(program, random_inputs(program.module, 3))


@pytest.mark.parametrize("element", ["bf16", "f64", "i8", "ui32", "i1", "complex<f32>"])
def test_every_element_type_is_looked_up(element: str) -> None:
    program = static(9, '[{}, {"x"}, {}]', element)
    assert CollectiveKind.ALL_TO_ALL not in count_of_collectives(program)
    assert_same_on_shards(program, random_inputs(program.module, 3))


@pytest.mark.parametrize("start", [-3, 0, 7, 15, 99])
@pytest.mark.parametrize("sharding", ['[{}, {"x"}, {}]', '[{"y"}, {"x"}, {}]'])
def test_a_start_that_is_an_argument_is_looked_up(start: int, sharding: str) -> None:
    program = dynamic(sharding, "8x16x6")
    assert {*count_of_collectives(program)} <= {CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER}
    values, *_ = random_inputs(program.module, 3)
    assert_same_on_shards(program, [values, np.array(start, np.int32)])


def test_lookups_are_proved_at_any_size_and_faults_in_them_are_found() -> None:
    large = "64x2048x32"
    for program in (static(2047, '[{}, {"x"}, {}]', sizes=large), dynamic('[{"y"}, {"x"}, {}]', large)):
        assert program.prove().is_proved
    for program in (static(9, '[{}, {"x"}, {}]'), dynamic('[{}, {"x"}, {}]', "8x16x6")):
        check_proof_and_faults(str(program), faults=40, seeds=3)


def test_looked_up_elements_are_added_up_before_they_are_multiplied() -> None:
    program = Program.from_text(f"""
sdy.mesh @m = {MESHES[0]}
func.func @main(%a: tensor<8x64x16xf32> {{sdy.sharding = #sdy.sharding<@m, [{{}}, {{"x"}}, {{}}]>}},
    %w: tensor<16x2xf32>) -> tensor<8x2xf32> {{
  %0 = stablehlo.slice %a [0:8, 63:64, 0:16] : (tensor<8x64x16xf32>) -> tensor<8x1x16xf32>
  %1 = stablehlo.reshape %0 : (tensor<8x1x16xf32>) -> tensor<8x16xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x2xf32>)
    -> tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}}""")
    values, weights = (np.ones(shape, np.float32) for shape in ((8, 64, 16), (16, 2)))
    weights[3, 1] = np.inf
    assert_same_on_shards(program, [values, weights])  # zero times infinity would be NaN


def test_a_dim_of_which_all_elements_are_taken_is_gathered() -> None:
    kind, kept = "tensor<8x4xf32>", "tensor<8x1xf32>"
    slices = "\n  ".join(f"%{n} = stablehlo.slice %a [0:8, {n}:{n + 1}] : ({kind}) -> {kept}" for n in range(4))
    program = Program.from_text(f"""
sdy.mesh @m = {MESHES[0]}
func.func @main(%a: {kind} {{sdy.sharding = #sdy.sharding<@m, [{{}}, {{"x"}}]>}}) -> ({kept}, {kept}, {kept}, {kept}) {{
  {slices}
  return %0, %1, %2, %3 : {kept}, {kept}, {kept}, {kept}
}}""")
    total = sum(each.bytes_sent for each in program.cost("tpu_v5e").collectives)
    assert total < 4 * 2 * 8 * 4 * 3 / 4  # of four lookups
    assert_same_on_shards(program, random_inputs(program.module, 3))


def loop(carried: str, sharding: str = '[{"x"}, {}]') -> Program:
    """Return a program that takes one row after another in a loop, from a value or from one that it changes."""
    return Program.from_text(f"""
sdy.mesh @m = {MESHES[0]}
func.func @main(%a: tensor<16x6xf32> {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}) -> tensor<1x6xf32> {{
  %c = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<1x6xf32>
  %0:3 = stablehlo.while(%v = %a, %i = %c, %s = %z) : tensor<16x6xf32>, tensor<i32>, tensor<1x6xf32>
  cond {{
    %n = stablehlo.constant dense<16> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.dynamic_slice %v, %i, %zero, sizes = [1, 6]
      : (tensor<16x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
    %3 = stablehlo.add %s, %2 : tensor<1x6xf32>
    %4 = stablehlo.sine %v : tensor<16x6xf32>
    stablehlo.return {carried}, %1, %3 : tensor<16x6xf32>, tensor<i32>, tensor<1x6xf32>
  }}
  return %0#2 : tensor<1x6xf32>
}}""")


def test_a_value_that_a_loop_does_not_change_is_gathered_before_it() -> None:
    program = loop("%v")
    assert program.cost("tpu_v5e").collectives[0].runs == 1
    assert_same_on_shards(program, random_inputs(program.module, 3))


def test_a_value_that_a_loop_changes_is_looked_up() -> None:
    program = loop("%4")
    total = sum(each.bytes_sent for each in program.cost("tpu_v5e").collectives)
    assert total <= 16 * 6 * 4 * 2 * 3 / 4  # sixteen all-reduces of a row; to gather the value each time sends 8 times
    assert_same_on_shards(program, random_inputs(program.module, 3))


def test_an_argument_of_a_manual_computation_is_none_of_the_function_around_it() -> None:
    program = Program.from_text(
        """
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x1xf32> {
  %0 = func.call @second(%a) : (tensor<8x16xf32>) -> tensor<8x1xf32>
  return %0 : tensor<8x1xf32>
}
func.func private @second(%a: tensor<8x16xf32>) -> tensor<8x1xf32> {
  %0 = sdy.manual_computation(%a, %a) in_shardings=[<@m, [{"x"}, {"y"}]>, <@m, [{"x"}, {"y"}]>]
      out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x16xf32>, %c: tensor<2x16xf32>) {
    %1 = stablehlo.slice %c [0:2, 3:4] : (tensor<2x16xf32>) -> tensor<2x1xf32>
    %2 = stablehlo.slice %b [0:2, 5:6] : (tensor<2x16xf32>) -> tensor<2x1xf32>
    %3 = stablehlo.add %1, %2 : tensor<2x1xf32>
    sdy.return %3 : tensor<2x1xf32>
  } : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x1xf32>
  return %0 : tensor<8x1xf32>
}"""
    )
    assert all(each.agrees for each in program.verify())
