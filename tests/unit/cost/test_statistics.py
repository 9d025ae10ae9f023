"""Statistics of local programs, computed by hand."""

from __future__ import annotations

import pytest

from sdy.cost.collectives import CollectiveKind, groups_of
from sdy.cost.executions import trip_count
from sdy.cost.flops import flops_of
from sdy.cost.memory import memory_curve, peak_bytes
from sdy.cost.statistics import CollectiveStatistics, statistics_of
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.module_text import parse_module
from sdy.dialects.sdy.collectives import CollectivePermuteOp
from sdy.dialects.stablehlo.control import WhileOp
from sdy.grammar.parse import parse_mesh

GROUPS = "dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"

LOOP = """
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
  %start = stablehlo.constant dense<{start}> : tensor<i32>
  %stop = stablehlo.constant dense<{stop}> : tensor<i32>
  %0:3 = stablehlo.while(%i = %start, %n = %stop, %x = %arg0) : tensor<i32>, tensor<i32>, tensor<8xf32>
  cond {{
    %1 = stablehlo.compare {relation}, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %step = stablehlo.constant dense<{step}> : tensor<i32>
    %1 = stablehlo.add %i, %step : tensor<i32>
    %2 = func.call @body(%x) : (tensor<8xf32>) -> tensor<8xf32>
    stablehlo.return %1, {carried}, %2 : tensor<i32>, tensor<i32>, tensor<8xf32>
  }}
  return %0#2 : tensor<8xf32>
}}
func.func private @body(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
  %0 = "stablehlo.all_reduce"(%arg0) <{{replica_groups = {groups}}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }}) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}
"""


def _loop(start: int = 0, stop: int = 6, step: int = 1, relation: str = "LT", carried: str = "%n") -> str:
    return LOOP.format(start=start, stop=stop, step=step, relation=relation, carried=carried, groups=GROUPS)


@pytest.mark.parametrize(
    ("text", "trips"),
    [
        (_loop(), 6),
        (_loop(start=2, stop=9, step=3), 3),
        (_loop(start=2, stop=8, step=3, relation="LE"), 3),
        (_loop(start=6), 0),
        (_loop(relation="NE"), None),
        (_loop(step=0), None),
        (_loop(carried="%1"), None),
    ],
)
def test_trip_counts_of_counting_loops(text: str, trips: int | None) -> None:
    (loop,) = ops_of(parse_module(text), WhileOp)
    assert trip_count(loop) == trips


def test_collectives_in_loops_and_calls_count_as_often_as_they_run() -> None:
    statistics = statistics_of(parse_module(_loop(stop=5)))
    one_run = 2 * 3 / 4 * 8 * 4
    assert statistics.collectives == {CollectiveKind.ALL_REDUCE: CollectiveStatistics(1, 5, 5 * one_run)}
    assert statistics.to_json()["bytes_sent"] == 240


def test_bytes_follow_the_size_of_the_group_and_of_the_result() -> None:
    text = f"""
    func.func @main(%arg0: tensor<4x2xf32>) -> (tensor<16x2xf32>, tensor<1x8xf32>, tensor<4x2xf32>, tensor<1x2xf32>) {{
      %0 = "stablehlo.all_gather"(%arg0) <{{all_gather_dim = 0 : i64, replica_groups = {GROUPS}}}>
        : (tensor<4x2xf32>) -> tensor<16x2xf32>
      %1 = "stablehlo.all_to_all"(%arg0) <{{split_dimension = 0 : i64, concat_dimension = 1 : i64,
        split_count = 4 : i64, replica_groups = {GROUPS}}}> : (tensor<4x2xf32>) -> tensor<1x8xf32>
      %2 = "stablehlo.collective_permute"(%arg0) <{{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}}>
        : (tensor<4x2xf32>) -> tensor<4x2xf32>
      %3 = "stablehlo.reduce_scatter"(%arg0) <{{scatter_dimension = 0 : i64, replica_groups = {GROUPS}}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %4 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %4 : tensor<f32>
      }}) : (tensor<4x2xf32>) -> tensor<1x2xf32>
      return %0, %1, %2, %3 : tensor<16x2xf32>, tensor<1x8xf32>, tensor<4x2xf32>, tensor<1x2xf32>
    }}
    """
    assert _bytes_by_kind(text) == {"all-gather": 96, "all-to-all": 24, "collective-permute": 32, "reduce-scatter": 24}


def _bytes_by_kind(text: str) -> dict[str, float]:
    return {kind.value: each.bytes_sent for kind, each in statistics_of(parse_module(text)).collectives.items()}


@pytest.mark.parametrize(("groups", "passed_on"), [(GROUPS, 32), ("dense<[[0], [1]]> : tensor<2x1xi64>", 0)])
def test_each_device_passes_on_what_is_broadcast_or_reduced_to_one(groups: str, passed_on: int) -> None:
    text = f"""
    func.func @main(%arg0: tensor<4x2xf32>) -> tensor<4x2xf32> {{
      %0 = "stablehlo.collective_broadcast"(%arg0) <{{replica_groups = {groups}}}>
        : (tensor<4x2xf32>) -> tensor<4x2xf32>
      %1 = "stablehlo.collective_reduce"(%0) <{{replica_groups = {groups}}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %2 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }}) : (tensor<4x2xf32>) -> tensor<4x2xf32>
      %3 = "stablehlo.cross-replica-sum"(%1) <{{replica_groups = {groups}}}> : (tensor<4x2xf32>) -> tensor<4x2xf32>
      return %3 : tensor<4x2xf32>
    }}
    """
    kinds = {"collective-broadcast": passed_on, "collective-reduce": passed_on, "all-reduce": 1.5 * passed_on}
    assert _bytes_by_kind(text) == kinds


def test_a_permute_without_pairs_sends_to_the_next_device() -> None:
    text = """sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.collective_permute %a out_sharding=<@m, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}"""
    mesh = parse_mesh('<["x"=4]>')
    (permute,) = ops_of(parse_module(text), CollectivePermuteOp)
    assert groups_of(permute, mesh) == ((0, 1), (1, 2), (2, 3), (3, 0))


def test_flops_of_products_and_convolutions() -> None:
    text = """
    func.func @main(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %x: tensor<1x8x6xf32>, %w: tensor<3x2x9xf32>)
        -> (tensor<2x3x5xf32>, tensor<1x6x9xf32>) {
      %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
      %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
        {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
        : (tensor<1x8x6xf32>, tensor<3x2x9xf32>) -> tensor<1x6x9xf32>
      return %0, %1 : tensor<2x3x5xf32>, tensor<1x6x9xf32>
    }
    """
    assert flops_of(parse_module(text)) == 2 * (2 * 3 * 5 * 4) + 2 * (6 * 9) * (3 * 2)


def test_peak_memory_counts_what_is_alive_at_once() -> None:
    text = """
    func.func @main(%arg0: tensor<10xf32>) -> tensor<10xf32> {
      %0 = stablehlo.negate %arg0 : tensor<10xf32>
      %1 = stablehlo.add %0, %arg0 : tensor<10xf32>
      %2 = stablehlo.negate %1 : tensor<10xf32>
      %3 = call @helper(%2) : (tensor<10xf32>) -> tensor<10xf32>
      return %3 : tensor<10xf32>
    }
    func.func private @helper(%arg0: tensor<10xf32>) -> tensor<10xf32> {
      %0 = stablehlo.concatenate %arg0, %arg0, %arg0, dim = 0
        : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<30xf32>
      %1 = stablehlo.slice %0 [0:10] : (tensor<30xf32>) -> tensor<10xf32>
      return %1 : tensor<10xf32>
    }
    """
    # In @helper: the three copies and their source. The caller of @main holds the argument and the result.
    assert peak_bytes(parse_module(text)) == 4 * (30 + 10) + 4 * (10 + 10)
    # The result has the memory of a donated argument.
    assert peak_bytes(parse_module(text.replace(": tensor<10xf32>)", f": tensor<10xf32> {DONOR})", 1))) == 4 * (30 + 10)


DONOR = "{jax.buffer_donor = true}"
UPDATE = """
func.func @main(%p: tensor<10xf32> {attributes}, %g: tensor<10xf32>) -> (tensor<f32>, tensor<10xf32>) {{
  %loss = stablehlo.constant dense<0.0> : tensor<f32>
  {lines}
  return %loss, %new : tensor<f32>, tensor<10xf32>
}}
"""
IN_PLACE = "%new = stablehlo.subtract %p, %g : tensor<10xf32>"
NOT_IN_PLACE = "%new = stablehlo.reverse %p, dims = [0] : tensor<10xf32>"
READ_LATER = f"{IN_PLACE}\n  %last = stablehlo.negate %p : tensor<10xf32>"


@pytest.mark.parametrize(
    ("attributes", "lines", "tensors"),
    [
        ("", IN_PLACE, 3),
        (DONOR, IN_PLACE, 2),
        ("{jax.buffer_donor = false}", IN_PLACE, 3),
        ("{tf.aliasing_output = 1 : i32}", IN_PLACE, 2),
        ("{tf.aliasing_output = 0 : i32}", IN_PLACE, 3),  # annotated for the loss, whose op does not read it
        (DONOR, NOT_IN_PLACE, 3),
        (DONOR, READ_LATER, 4),
    ],
)
def test_a_result_is_written_to_the_memory_of_a_donated_argument(attributes: str, lines: str, tensors: int) -> None:
    module = parse_module(UPDATE.format(attributes=attributes, lines=lines))
    assert peak_bytes(module) == max(memory_curve(module)) == 4 + 40 * tensors


HELD_IN_A_LOOP = """
func.func @main(%w: tensor<10xf32> {attributes}, %x: tensor<10xf32>) -> tensor<10xf32> {{
  %0:2 = stablehlo.while(%i = %w, %y = %x) : tensor<10xf32>, tensor<10xf32>
  cond {{
    %go = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %go : tensor<i1>
  }} do {{
    %1 = func.call @scaled(%i, %y) : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    stablehlo.return {carried}, %1 : tensor<10xf32>, tensor<10xf32>
  }}
  return %0#1 : tensor<10xf32>
}}
func.func private @scaled(%w: tensor<10xf32>, %x: tensor<10xf32>) -> tensor<10xf32> {{
  %0 = stablehlo.custom_call @scaled(%w, %x) : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  return %0 : tensor<10xf32>
}}
"""


@pytest.mark.parametrize(("carried", "tensors"), [("%i", 4), ("%1", 5)])
def test_a_held_argument_is_counted_once_in_loops_and_calls_that_do_not_change_it(carried: str, tensors: int) -> None:
    """Both arguments, the value that the loop changes and the product; a loop that changes `%w` copies it first."""
    module = parse_module(HELD_IN_A_LOOP.format(attributes="", carried=carried))
    assert peak_bytes(module) == max(memory_curve(module)) == 40 * tensors
