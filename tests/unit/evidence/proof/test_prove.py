"""The outcome of a proof: examples and shared models are proved; programs with faults are not."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from support.examples import EXAMPLES
from support.execution.faults import faulty_copies
from support.slow_cases import slow_except
from xdsl.dialects.builtin import ModuleOp

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.evidence.proof.outcome import Proof
from sdy.evidence.runs.arrays import random_inputs
from sdy.evidence.runs.verification import compare_runs
from sdy.evidence.whole_proof import prove
from sdy.tools.main import main

MODELS = Path(__file__).parents[4] / "shared" / "models"
MLP = next(path for path in EXAMPLES if path.stem == "mlp_dp8")
SOURCE = """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1]
      : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.exponential %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""
WITHOUT_ALL_REDUCE = """
func.func @main(%a: tensor<4x4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1]
      : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.exponential %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


def proof_of(program: sdy.Program[Any], local: ModuleOp) -> Proof:
    return prove(replace(program.partition(), local=local))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_proved(path: Path) -> None:
    proof = sdy.load(path).prove()
    assert proof.is_proved, proof.failures
    assert proof.share == 1.0
    assert sum(count for _, count in proof.lemmas) >= proof.ops > 0


def test_the_op_that_needs_an_all_reduce_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, local = tmp_path / "source.mlir", tmp_path / "local.mlir"
    source.write_text(SOURCE)
    local.write_text(WITHOUT_ALL_REDUCE)
    assert main(["prove", str(source)]) == 0
    assert "proved: the programs compute the same" in capsys.readouterr().out
    assert main(["prove", str(source), "--local", str(local)]) == 1
    printed = capsys.readouterr().out
    assert "local.mlir:6:8: error: stablehlo.exponential is not proved: expected an all-reduce before" in printed
    assert "[SDY-V001]" in printed
    assert "result 0 is not proved" in printed
    assert "[SDY-V003]" in printed
    assert "3 of 4 ops proved" in printed


def test_results_that_are_not_proved_for_one_reason_are_named_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, local = tmp_path / "program.mlir", tmp_path / "local.mlir"
    program.write_text(
        SOURCE.replace("-> tensor<4xf32> {\n", "-> (tensor<4xf32>, tensor<4xf32>) {\n", 1).replace(
            "return %1 : tensor<4xf32>", "return %1, %1 : tensor<4xf32>, tensor<4xf32>"
        )
    )
    local.write_text(
        WITHOUT_ALL_REDUCE.replace("-> tensor<4xf32> {\n", "-> (tensor<4xf32>, tensor<4xf32>) {\n", 1).replace(
            "return %1 : tensor<4xf32>", "return %1, %1 : tensor<4xf32>, tensor<4xf32>"
        )
    )
    assert main(["prove", str(program), "--local", str(local)]) == 1
    printed = capsys.readouterr().out
    assert "results 0, 1 are not proved: " in printed
    assert "a run in exact numbers gives other results" in printed


TOKENS = """
sdy.mesh @m = <["x"=2]>
func.func @main(%t: !stablehlo.token, %a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
    -> (!stablehlo.token, tensor<4xf32>) {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  %1 = BODY
  return %1, %0 : !stablehlo.token, tensor<4xf32>
}"""


def test_tokens_have_no_elements_to_relate() -> None:
    """A print of JAX in order takes a token and returns one; what it prints is not proved, and named."""
    body = "stablehlo.custom_call @print(%t, %0) {has_side_effect = true} : (TOKEN, tensor<4xf32>) -> TOKEN"
    program = sdy.Program.from_text(TOKENS.replace("BODY", body).replace("TOKEN", "!stablehlo.token"))
    proof = program.prove()
    assert not proof.is_proved
    assert {each.message for each in proof.failures if each.code == "SDY-V001"} == {
        "stablehlo.custom_call is not proved: expected tensors of static shape, got !stablehlo.token"
    }
    assert not any(each.code == "SDY-V003" for each in proof.failures)


@pytest.mark.parametrize(
    "body",
    [
        """"stablehlo.custom_call"(%x) <{call_target_name = "f", called_computations = [@empty]}>
      : (tensor<8x4xf32>) -> ()""",
        """%0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<8x4xf32>) -> tensor<8x4xf32>""",
    ],
    ids=("a call of a function without results", "a sort along the dim that is the default"),
)
def test_what_an_op_does_not_say_has_a_default(body: str) -> None:
    text = f"""sdy.mesh @m = <["x"=2]>
func.func @main(%x: tensor<8x4xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}}) {{
  {body}
  return
}}
func.func private @empty() {{
  return
}}"""
    assert sdy.Program.from_text(text).prove().is_proved


@pytest.mark.parametrize("kind", ["tensor<?x8xf32>", "memref<4xf32>", "tensor<*xf32>"])
def test_values_that_are_no_tensors_of_static_shape_are_not_proved(kind: str) -> None:
    text = f"func.func @main(%a: {kind}) -> {kind} {{ return %a : {kind} }}"
    failure, *_ = sdy.Program.from_text(text).prove().failures
    assert failure.message == f"result 0 is not proved: expected a tensor of static shape, got {kind}"


def test_the_outcome_is_printed_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, local = tmp_path / "source.mlir", tmp_path / "local.mlir"
    source.write_text(SOURCE)
    local.write_text(WITHOUT_ALL_REDUCE)
    assert main(["prove", str(source), "--local", str(local), "--json"]) == 1
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["ops_proved"] == 3
    assert [each["code"] for each in outcome["failures"]] == ["SDY-V001", "SDY-V003", "SDY-V006", "SDY-V005"]
    assert outcome["failures"][0]["location"].endswith("local.mlir:6:8")


def test_an_op_that_the_proof_does_not_support_is_named() -> None:
    call = "stablehlo.custom_call @mystery(%0) {has_side_effect = true} : (tensor<4xf32>) ->"
    text = SOURCE.replace("stablehlo.exponential %0 :", call)
    program = sdy.Program.from_text(text)
    proof = proof_of(program, program.partition().local)
    assert "SDY-V002" in [each.code for each in proof.failures]
    assert "the global stablehlo.custom_call is not supported" in str([each.message for each in proof.failures])


def faults_of(path: Path, count: int) -> tuple[int, int]:
    """Return the number of faults that change results, and how many of them the proof finds: all."""
    program = sdy.load(path)
    partitioned = program.partition()
    inputs = tuple(random_inputs(program.module, 0))
    wrong = found = 0
    for name, faulty in islice(faulty_copies(partitioned.local, seed=11), count):
        is_proved = proof_of(program, faulty).is_proved
        try:
            results = compare_runs(replace(partitioned, local=faulty), inputs)
            is_right = all(each.agrees for each in results)
        except SdyError:
            is_right = False
        assert is_right or not is_proved, name
        wrong, found = wrong + (not is_right), found + (not is_right and not is_proved)
    return wrong, found


@pytest.mark.parametrize("count", slow_except([4], [4, 7]))
@pytest.mark.parametrize("path", [path for path in EXAMPLES if path.stem != "matmul_case1"], ids=lambda path: path.stem)
def test_faults_are_not_proved(path: Path, count: int) -> None:
    wrong, found = faults_of(path, count)
    assert found == wrong > 0


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(MODELS.glob("*.mlir")), ids=lambda path: path.stem)
def test_many_faults_are_not_proved(path: Path) -> None:
    wrong, found = faults_of(path, 30)
    assert found == wrong


WITHOUT_LEMMAS = (
    "shard_map_all_gather_stacked",
    "shard_map_all_gather_tiled",
    "shard_map_all_to_all",
    "shard_map_ppermute",
    "shard_map_ring_psum_scatter",  # sums that the program takes apart itself
)
PROVED = [path for path in sorted(MODELS.glob("*.mlir")) if path.stem not in WITHOUT_LEMMAS]


@pytest.mark.skipif(not PROVED, reason="the shared models are not beside the repository")
@pytest.mark.parametrize("path", PROVED, ids=lambda path: path.stem)
def test_shared_models_are_proved(path: Path) -> None:
    proof = sdy.load(path).prove()
    assert proof.is_proved, proof.failures
    assert proof.share == 1.0


ONE_HEAD_PER_DEVICE = """
sdy.mesh @m = <["x"=8]>
func.func @main(%a: tensor<16x1024xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>},
                %table: tensor<16x64xf32>) -> tensor<16x8x64xf32> {
  %0 = stablehlo.reshape %a : (tensor<16x1024xf32>) -> tensor<16x8x128xf32>
  %1 = stablehlo.slice %0 [0:16, 0:8, 64:128] : (tensor<16x8x128xf32>) -> tensor<16x8x64xf32>
  %2 = stablehlo.broadcast_in_dim %table, dims = [0, 2] : (tensor<16x64xf32>) -> tensor<16x8x64xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<16x8x64xf32>
  return %3 : tensor<16x8x64xf32>
}
"""


def test_the_rotation_of_one_head_per_device_is_proved_for_any_size() -> None:
    """The shard of a dim of all heads is one head, of which each half is multiplied by a table, as in a rotation."""
    program = sdy.Program.from_text(ONE_HEAD_PER_DEVICE)
    proof = program.prove()
    assert proof.is_proved
    assert proof.proved == proof.ops > 2
    faults = [each for _, each in faulty_copies(program.partition().local, seed=3)]
    assert faults
    assert not any(proof_of(program, each).is_proved for each in faults)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("func.func @main() { call @main() : () -> () return }", "SDY-T115"),
        (
            'sdy.mesh @m = <["x"=1000000007]> func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, '
            "[{?}]>}) -> tensor<4xf32> { return %a : tensor<4xf32> }",
            "SDY-L019",
        ),
    ],
)
def test_what_cannot_be_proved_has_a_place_in_the_text(text: str, code: str) -> None:
    with pytest.raises(sdy.SdyError) as caught:
        sdy.Program.from_text(text).prove()
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.span is not None
