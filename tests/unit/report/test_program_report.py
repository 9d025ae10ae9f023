"""The text of `sdy report` and `sdy verify` shows all collectives, with the total that the other commands print."""

from __future__ import annotations

import re
from operator import methodcaller
from pathlib import Path

import pytest
from support.examples import EXAMPLES

import sdy
from sdy.cost.statistics import statistics_of
from sdy.tools.main import main

# A shift by one row, whose shards exchange their edges.
SHIFT = """
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<16x8xf32> {
  %0 = stablehlo.slice %a [15:16, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
  %1 = stablehlo.slice %a [0:15, 0:8] : (tensor<16x8xf32>) -> tensor<15x8xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x8xf32>, tensor<15x8xf32>) -> tensor<16x8xf32>
  return %2 : tensor<16x8xf32>
}
"""

# A manual computation with a collective in a loop of seven trips, and two conflicts outside of it.
MANUAL = """
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<16x8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>]
      manual_axes={"x", "y"} (%b: tensor<4x8xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.while(%i = %zero, %v = %b) : tensor<i32>, tensor<4x8xf32>
    cond {
      %n = stablehlo.constant dense<7> : tensor<i32>
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = "stablehlo.all_reduce"(%v) <{
        replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids
      }> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<4x8xf32>
    }
    sdy.return %1#1 : tensor<4x8xf32>
  } : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %3 = stablehlo.dot %0, %2 : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %4 = stablehlo.dot %3, %0 : (tensor<16x16xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  return %4 : tensor<16x8xf32>
}
"""

PROGRAMS = [
    *(pytest.param(path.read_text(), id=path.stem) for path in EXAMPLES),
    pytest.param(SHIFT, id="halo exchange"),
    pytest.param(MANUAL, id="loop in a manual computation"),
]


def _rows(text: str) -> list[list[str]]:
    """Return the cells of the table of collectives; the last row has the totals."""
    _, _, rest = text.partition("\ncollectives\n")
    table = rest.partition("└")[0]
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in table.splitlines() if line.startswith("│")]


def _number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.parametrize("text", PROGRAMS)
def test_the_totals_are_those_of_cost_and_of_partition(text: str) -> None:
    program = sdy.Program.from_text(text)
    partitioned = program.partition()
    cost, statistics = partitioned.cost("tpu_v5e"), statistics_of(partitioned.local)
    rows = _rows(program.report(width=200))
    runs, sent = (_number(rows[-1][0]), _number(rows[-1][4])) if rows else (0, 0)
    assert runs == sum(each.runs for each in cost.collectives)
    assert sent == round(sum(each.bytes_sent for each in cost.collectives)) == round(statistics.bytes_sent)
    kinds = {kind.value: each.runs for kind, each in statistics.collectives.items()}
    assert {kind: sum(_number(row[0]) for row in rows[:-1] if row[1] == kind) for kind in kinds} == kinds


@pytest.mark.parametrize("text", PROGRAMS)
def test_verify_shows_the_collectives_of_the_report(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "program.mlir"
    path.write_text(text)
    assert main(["verify", str(path)]) == 0
    verified, reported = _rows(capsys.readouterr().out), _rows(sdy.Program.from_text(text).report(width=200))
    assert [row[0:5:4] for row in verified[-1:]] == [row[0:5:4] for row in reported[-1:]]


def test_a_halo_exchange_has_its_axes_its_bytes_and_its_line() -> None:
    row, total = _rows(sdy.Program.from_text(SHIFT).report(width=200))
    assert row[:5] == ["1", "collective-permute", '{"x"}', "1x8", "32"]
    assert re.fullmatch(r"line \d", row[5])
    assert total[4] == "32"


def test_a_collective_of_a_manual_computation_counts_once_per_trip_of_its_loop() -> None:
    rows = _rows(sdy.Program.from_text(MANUAL).report(width=200))
    assert ["7", "all-reduce", '{"x"}', "4x8", f"{7 * 2 * 3 * 32:,}", "line 15"] in rows


def test_a_notebook_shows_them_too() -> None:
    assert "collective-permute" in str(methodcaller("_repr_html_")(sdy.Program.from_text(SHIFT).partition()))


def test_the_report_says_whose_collectives_it_shows() -> None:
    text = sdy.Program.from_text(SHIFT).report()
    assert "as sdy partitions it: each device sends 32 bytes in 1 collective\n" in text
    assert "below is sdy's program: each device holds" in text
    assert "jax.jit" not in text


def test_the_report_of_a_jax_program_begins_with_what_jax_sends() -> None:
    named = SHIFT.replace("}) -> tensor<16x8xf32> {", '} loc("x")) -> tensor<16x8xf32> {', 1)
    program = sdy.Program.from_text(named)
    assert program.origin.argument_names == ("x",)
    jit, ours = (line for line in program.report().splitlines() if line.startswith("as "))
    textbook = statistics_of(program.without_optimizer().partition().local)
    assert jit == (
        f"as jax.jit lowers it: each device sends about {textbook.bytes_sent:,.0f} bytes in "
        f"{textbook.runs} collective{'s' * (textbook.runs != 1)}"
    )
    assert ours == "as sdy partitions it: each device sends 32 bytes in 1 collective"


# The gathers of two weights are combined into one.
TRACED = """
sdy.mesh @m = <["x"=4]>
func.func @main(%arg0: tensor<1024x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>} loc("x"),
    %arg1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>} loc("params['up']"),
    %arg2: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>} loc("params['down']")) -> tensor<f32> {
  %0 = stablehlo.dot %arg0, %arg1 : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
    loc("jit(f)/jvp(mlp)/dot_general"("train.py":7:0))
  %1 = stablehlo.dot %0, %arg2 : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
    loc("jit(f)/jvp(mlp)/dot_general"("train.py":8:0))
  %c = stablehlo.constant dense<0.0> : tensor<f32> loc(unknown)
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<1024x64xf32>, tensor<f32>) -> tensor<f32> loc("jit(f)/transpose(jvp(mean))/reduce_sum"("train.py":9:0))
  return %2 : tensor<f32> loc(unknown)
}
"""


def test_collectives_are_named_by_scopes_and_by_the_arguments_that_they_reshard() -> None:
    found = sdy.Program.from_text(TRACED).partition_summary().collectives
    names = ["params['up']", "params['down']"]
    assert [each.named for each in found] == [
        """all-gather along "x" of params['up'] and 1 more""",
        'all-reduce along "x" at train.py:9 in transpose(mean)',
    ]
    assert [(each.to_json()["scope"], each.to_json()["arguments"]) for each in found] == [
        ("", names),
        ("transpose(mean)", []),
    ]


# The examples are sharded by features, so that the products are partial sums.
LOSS = """
sdy.mesh @m = <["x"=4]>
func.func @main(%arg0: tensor<16384x1024xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>} loc("batch"),
    %arg1: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>} loc("params['w']")) -> tensor<f32> {
  %0 = stablehlo.dot %arg0, %arg1 : (tensor<16384x1024xf32>, tensor<1024x1024xf32>) -> tensor<16384x1024xf32>
  %1 = stablehlo.tanh %0 : tensor<16384x1024xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<16384x1024xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
"""


def test_the_diagnosis_of_a_loss_is_the_plan_that_saves_most() -> None:
    report = sdy.Program.from_text(LOSS).report()
    assert re.search(r"diagnosis: other in_shardings save 101 MB of 101 MB and .* in jax.jit", report), report
    assert '  edit: rules = { "batch": P("x"), "*": P(), }' in report


def test_a_program_whose_result_has_users_keeps_its_shardings() -> None:
    returned = LOSS.replace("-> tensor<f32> {", "-> tensor<16384x1024xf32> {").replace(
        "return %2 : tensor<f32>", "return %1 : tensor<16384x1024xf32>"
    )
    assert "diagnosis" not in sdy.Program.from_text(returned).report()


def test_the_diagnosis_of_a_program_that_does_not_fit_is_the_missing_memory() -> None:
    report = sdy.Program.from_text(LOSS.replace("16384x", "16384000x")).report("tpu_v5e")
    assert "diagnosis: each device holds 151 GB in jax.jit, 135 GB more than one of tpu_v5e has" in report
