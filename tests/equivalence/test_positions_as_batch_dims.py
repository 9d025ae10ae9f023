"""Dims that are indexed by their own positions stay sharded: `cache[i, k[i]]` for all `i` needs no communication."""

from __future__ import annotations

import pytest
from support.execution.on_shards import assert_same_on_shards
from support.execution.proved_faults import check_proof_and_faults

from sdy.evidence.runs.arrays import random_inputs
from sdy.program.program import Program

MESH = '<["x"=4, "y"=2]>'


def program(op: str, rows: int, columns: int, sharding: str) -> str:
    """Return a program that reads or writes one element in each row, at a column that is an argument."""
    kind, at = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}x1xi32>"
    dims = "_dims = [0, 1]"
    if op == "gather":
        used, types, result = "%a, %i", f"({kind}, tensor<{rows}x2xi32>)", f"tensor<{rows}xf32>"
        numbers = f"collapsed_slice{dims}, start_index_map = [0, 1], index_vector_dim = 1"
        rest = f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: 1, 1>}}>"
    else:
        used, types, result = "%a, %i, %u", f"({kind}, tensor<{rows}x2xi32>, tensor<{rows}xf32>)", kind
        numbers = f"inserted_window{dims}, scatter_dims_to_operand{dims}, index_vector_dim = 1"
        rest = f"""scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }})"""
    return f"""
sdy.mesh @m = {MESH}
func.func @main(%a: {kind} {{sdy.sharding = #sdy.sharding<@m, {sharding}>}},
    %k: {at} {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}}, %u: tensor<{rows}xf32>) -> {result} {{
  %n = stablehlo.iota dim = 0 : {at}
  %i = stablehlo.concatenate %n, %k, dim = 1 : ({at}, {at}) -> tensor<{rows}x2xi32>
  %0 = "stablehlo.{op}"({used}) <{{{rest} : {types} -> {result}
  return %0 : {result}
}}"""


@pytest.mark.parametrize("op", ["gather", "scatter"])
@pytest.mark.parametrize("rows", [8, 6])
@pytest.mark.parametrize("sharding", ['[{"x"}, {}]', '[{"x"}, {"y"}]', '[{}, {"x"}]', '[{"y", "x"}, {}]'])
def test_rows_are_indexed_on_their_shards(op: str, rows: int, sharding: str) -> None:
    text = program(op, rows, 12, sharding)
    found = Program.from_text(text)
    assert_same_on_shards(found, random_inputs(found.module, 3))
    check_proof_and_faults(text, faults=12, seeds=3)


@pytest.mark.parametrize("op", ["gather", "scatter"])
def test_no_row_is_moved(op: str) -> None:
    found = Program.from_text(program(op, 4096, 32_000, '[{"x"}, {}]'))
    assert [each for each in found.cost("tpu_v5e").collectives if each.bytes_sent] == []
    assert found.prove().is_proved


def test_the_program_is_proved_in_reduced_sizes() -> None:
    found = Program.from_text(program("gather", 4096, 32_000, '[{"x"}, {"y"}]'))
    assert all(each.agrees for each in found.verify(reduced=True))
