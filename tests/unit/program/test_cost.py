"""`Program.cost` returns the numbers that `sdy cost` prints."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES

import sdy
from sdy.compile.compiled import unfolded
from sdy.cost.collectives import CollectiveKind
from sdy.cost.machines.table import HARDWARE
from sdy.cost.program_cost import cost_of
from sdy.dialects.module_text import make_context
from sdy.program.program import Program
from sdy.tools.main import main

(FILE,) = (path for path in EXAMPLES if path.stem == "mlp_dp4_tp2")
PROGRAM = sdy.load(FILE)


def test_the_method_returns_the_output_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(FILE), "--on", "tpu_v5e", "--free-bytes", "1000", "--json"]) == 0
    program = PROGRAM.optimized_for("tpu_v5e")
    cost = program.cost("tpu_v5e", free_bytes=1000)
    assert cost.to_json() == json.loads(capsys.readouterr().out)
    assert not cost.fits
    assert program.cost("tpu_v5e", free_bytes="1kB") == cost
    with pytest.raises(ValueError, match="expected a number of bytes such as 300e6 or 16GB, got 1kX"):
        PROGRAM.cost("tpu_v5e", free_bytes="1kX")


def test_the_bytes_are_those_of_all_collectives() -> None:
    cost = PROGRAM.cost("tpu_v5e")
    assert cost.bytes_sent == sum(each.bytes_sent for each in cost.collectives) > 0
    assert f"{cost.bytes_sent:,.0f} bytes sent" in repr(cost)


def test_a_custom_machine_is_accepted() -> None:
    slow = replace(HARDWARE["tpu_v5e"], name="slow", hbm_bandwidth=HARDWARE["tpu_v5e"].hbm_bandwidth / 2)
    assert PROGRAM.cost(slow).memory_seconds == pytest.approx(2 * PROGRAM.cost("tpu_v5e").memory_seconds)


def test_an_unknown_machine_is_an_error() -> None:
    with pytest.raises(sdy.SdyError, match="unknown hardware tpu"):
        PROGRAM.cost("tpu")


def test_donated_arguments_of_a_jax_function_need_no_memory_beside_the_results() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")

    def step(weights: object, gradient: object) -> object:
        return jax.tree.map(jax.numpy.subtract, weights, gradient)

    weights = jax.ShapeDtypeStruct((1024,), jax.numpy.float32)
    held, donated = (
        sdy.from_jax(jax.jit(step, donate_argnums=donated), weights, weights).cost("tpu_v5e") for donated in ((), (0,))
    )
    assert (held.peak_bytes, donated.peak_bytes) == (3 * 4096, 2 * 4096)


@pytest.mark.parametrize("name", EXAMPLE_NAMES)
def test_a_program_optimized_for_a_machine_is_never_slower_than_with_or_without_the_optimizer(name: str) -> None:
    (file,) = (path for path in EXAMPLES if path.stem == name)
    program = sdy.load(file)
    plain, chosen = program.without_optimizer().cost("tpu_v5e"), program.optimized_for("tpu_v5e").cost("tpu_v5e")
    assert chosen.is_no_slower(plain)
    for each in (program.cost("tpu_v5e"), plain):
        assert chosen.seconds_in_turn <= each.seconds_in_turn or not each.is_no_slower(plain)


def test_where_latency_dominates_a_program_is_optimized_for_fewer_collectives() -> None:
    cost, chosen = PROGRAM.cost("tpu_v5e"), PROGRAM.optimized_for("tpu_v5e").cost("tpu_v5e")
    assert (sum(each.runs for each in cost.collectives), sum(each.runs for each in chosen.collectives)) == (6, 5)
    assert chosen.seconds < PROGRAM.without_optimizer().cost("tpu_v5e").seconds
    assert cost.bytes_sent < chosen.bytes_sent


def test_a_large_program_is_not_optimized_for_fewer_collectives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdy.compile.written_program.LARGE", 1)
    assert PROGRAM.optimized_for("tpu_v5e").cost("tpu_v5e") == PROGRAM.cost("tpu_v5e")
    (file,) = (path for path in EXAMPLES if path.stem == "matmul_case4")  # fewer bytes in more collectives are slower
    plain = sdy.load(file).without_optimizer().cost("tpu_v5e")
    assert sdy.load(file).optimized_for("tpu_v5e").cost("tpu_v5e") == plain != sdy.load(file).cost("tpu_v5e")


def test_a_cost_without_the_optimizer_is_that_of_the_program_partitioned_so() -> None:
    partitioned, plain = PROGRAM.partition(), PROGRAM.without_optimizer()
    assert partitioned.textbook is not None
    local = unfolded(partitioned.textbook, make_context())
    assert cost_of(local, partitioned.mesh, HARDWARE["tpu_v5e"]) == plain.cost("tpu_v5e")


def test_where_a_permute_takes_less_time_than_an_all_to_all_the_fixed_schedule_is_taken() -> None:
    program = Program.from_text("""
sdy.mesh @m = <["a"=4, "b"=4]>
func.func @main(%x: tensor<48x48xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>})
    -> (tensor<48x48xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a", "b"}]>}) {
  %0 = stablehlo.negate %x : tensor<48x48xf32>
  return %0 : tensor<48x48xf32>
}""")
    planned, chosen = program.cost("h100"), program.optimized_for("h100").cost("h100")
    assert [each.kind for each in planned.collectives] == [CollectiveKind.ALL_TO_ALL] * 2
    assert {each.kind for each in chosen.collectives} == {CollectiveKind.COLLECTIVE_PERMUTE, CollectiveKind.ALL_TO_ALL}
    assert chosen.seconds < planned.seconds
    assert chosen.bytes_sent > planned.bytes_sent


def test_where_the_fixed_schedule_shards_unevenly_values_are_gathered_instead() -> None:
    program = Program.from_text("""
sdy.mesh @m = <["x"=2, "y"=4, "z"=3]>
func.func @main(%x: tensor<12x12xf32> {sdy.sharding = #sdy.sharding<@m, [{"z", "x"}, {"y"}]>})
    -> (tensor<12x12xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}) {
  return %x : tensor<12x12xf32>
}""")
    scheduled = replace(program, options=replace(program.options, plan_reshards=False))
    assert {each.kind for each in scheduled.cost("h100").collectives} == {CollectiveKind.ALL_GATHER}
    assert program.optimized_for("h100").cost("h100").is_no_slower(program.cost("h100"))


def test_the_command_minimizes_time_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    (case,) = (path for path in EXAMPLES if path.stem == "matmul_case4")  # fewer bytes in more collectives are slower
    seconds: dict[str, float] = {}
    for goal in ("bytes", "time"):
        assert main(["cost", str(case), "--on", "tpu_v5e", "--json", "--minimize", goal]) == 0
        seconds[goal] = json.loads(capsys.readouterr().out)["seconds_in_turn"]
    assert seconds["time"] < seconds["bytes"] == sdy.load(case).cost("tpu_v5e").seconds_in_turn
