"""After ops without a lemma, a proof goes on from values that are shards again, which runs compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from xdsl.ir import SSAValue

import sdy
from sdy.compile.compiled import Compiled
from sdy.dialects.ir.symbols import main_block
from sdy.dialects.module_text import parse_module, print_module
from sdy.evidence.borders import Borders
from sdy.evidence.proof.prove import Border
from sdy.evidence.whole_proof import prove

ROLLED = """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %w: tensor<8x8xf32>)
    -> tensor<64x8xf32> {
  %0 = stablehlo.slice %a [60:64, 0:8] : (tensor<64x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.slice %a [0:60, 0:8] : (tensor<64x8xf32>) -> tensor<60x8xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<4x8xf32>, tensor<60x8xf32>) -> tensor<64x8xf32>
  %3 = stablehlo.tanh %2 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<64x8xf32>
  %4 = stablehlo.dot_general %3, %w, contracting_dims = [1] x [0]
      : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %5 = stablehlo.exponential %4 : tensor<64x8xf32>
  return %5 : tensor<64x8xf32>
}"""


def partitioned() -> Compiled:
    return sdy.Program.from_text(ROLLED).partition()


def test_the_proof_goes_on_after_a_stretch() -> None:
    proof = prove(partitioned())
    assert proof.is_proved
    assert proof.borders == 1
    assert (proof.checked, len(proof.gaps)) == (1, 1)
    assert proof.gaps[0].message.startswith("stablehlo.concatenate is not proved")
    assert {"stablehlo.tanh", "stablehlo.dot_general", "stablehlo.exponential"} <= {name for name, _ in proof.lemmas}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("[[0, 1], [1, 2], [2, 3], [3, 0]]", "[[0, 2], [1, 3], [2, 0], [3, 1]]"),  # in the stretch
        ("stablehlo.exponential", "stablehlo.tanh"),  # after it
        ("stablehlo.tanh", "stablehlo.exponential"),
    ],
)
def test_faults_in_a_stretch_and_after_it_are_found(right: str, wrong: str) -> None:
    program = partitioned()
    text = print_module(program.local)
    assert right in text
    faulty = replace(program, local=parse_module(text.replace(right, wrong), "local.mlir"))
    proof = prove(faulty)
    assert (proof.is_proved, proof.differs) == (False, True)


def test_what_runs_show_to_be_no_border_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    program = partitioned()
    found = Borders.found

    def wrong(borders: Borders, values: Sequence[SSAValue]) -> list[Border]:
        rolled = next(each for each in found(borders, values) if "concatenate" in str(each.value.owner))
        return [rolled._replace(of=main_block(program.written).args[0])]

    monkeypatch.setattr(Borders, "found", wrong)
    proof = prove(program)
    assert proof.is_proved  # the results agree
    assert proof.borders == 0
    assert proof.checked > 1


def test_what_is_equal_but_for_infinities_is_no_border() -> None:
    """The shards of a difference that is 0 everywhere are equal, though not where a number is infinite."""
    text = """
sdy.mesh @m = <["x"=8]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<f32> {
  %0 = stablehlo.subtract %a, %a : tensor<8xf32>
  %1 = stablehlo.constant dense<3> : tensor<1xi32>
  %2 = "stablehlo.gather"(%0, %1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
    start_index_map = [0]>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<1xi32>) -> tensor<f32>
  return %2 : tensor<f32>
}"""
    proof = prove(sdy.Program.from_text(text).partition())
    assert proof.is_proved
    assert proof.checked > 0


# Each ends in a dot_general, which is proved again.
STRETCHES = {
    "a cumulative sum along shards": """
func.func @main(%t: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %w: tensor<8x8xf32>)
    -> tensor<16x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%t, %z) <{window_dimensions = array<i64: 16, 1>,
      padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
      : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}""",
    "a manual computation": """
func.func @main(%t: tensor<16x8xf32>, %w: tensor<8x8xf32>) -> tensor<16x8xf32> {
  %0 = sdy.manual_computation(%t) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>]
      manual_axes={"x"} (%a: tensor<4x8xf32>) {
    %2 = stablehlo.tanh %a : tensor<4x8xf32>
    sdy.return %2 : tensor<4x8xf32>
  } : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
      : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}""",
}


@pytest.mark.parametrize("name", STRETCHES)
def test_a_stretch_is_checked_and_what_follows_is_proved(name: str) -> None:
    proof = prove(sdy.Program.from_text('sdy.mesh @m = <["x"=4]>' + STRETCHES[name]).partition())
    assert proof.is_proved
    assert proof.checked > 0
    assert proof.borders > 0
    assert "stablehlo.dot_general" in dict(proof.lemmas)
