"""Verification in exact numbers: what is enumerated, what is told of a difference, and what is not decided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.evidence.local_program import check_local_program
from sdy.evidence.runs.draws import Draws
from sdy.evidence.runs.verification import Verdict, Verification, verify_sizes_as_they_are

PRODUCT = """
sdy.mesh @m = <["data"=2, "model"=4]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"data"}, {"model"}]>},
    %w: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"model"}, {}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"data"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""
WITHOUT_SUM = """
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
"""
CASE = """
func.func @main(%which: tensor<i32>, %flag: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.case"(%which) ({
    %1 = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    %1 = stablehlo.abs %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    %1 = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  %2 = "stablehlo.if"(%flag) ({
    stablehlo.return %0 : tensor<4xf32>
  }, {
    %3 = stablehlo.cosine %0 : tensor<4xf32>
    stablehlo.return %3 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


def verified(text: str, local: str | None = None, **changed: str) -> Verification:
    """Verify a program, with another local program, or with changes of the text of ours."""
    partitioned = sdy.Program.from_text(text).partition()
    other = str(partitioned) if local is None else local
    for old, new in changed.items():
        assert old in other
        other = other.replace(old, new)
    return verify_sizes_as_they_are(replace(partitioned, local=parse_module(other)))


def parting_of(found: Verification) -> str:
    """The line at which programs part, and what is said of it."""
    assert found.verdict is Verdict.DIFFERS
    assert found.parting is not None
    assert found.parting.span is not None
    return f"{found.parting.span.line}: {found.parting.message}"


def test_a_missing_sum_is_named() -> None:
    found = verified(PRODUCT, WITHOUT_SUM)
    assert found.comparisons[0].problem.startswith("devices hold different copies of result 0")
    text = parting_of(found)
    assert text.startswith("3: the programs part here: stablehlo.dot_general")
    assert text.endswith('; the sum over "model" is missing')


def test_the_first_op_with_another_value_is_named_behind_right_partial_results() -> None:
    wrong = """
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.sine %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
"""
    assert "stablehlo.sine" in parting_of(verified(PRODUCT, wrong))
    groups = wrong.replace("[0, 1, 2, 3], [4, 5, 6, 7]", "[0, 1, 2, 4], [3, 5, 6, 7]")
    assert parting_of(verified(PRODUCT, groups)).startswith("5: the programs part here: stablehlo.all_reduce")


def test_a_wrong_window_is_named_though_its_elements_are_right() -> None:
    text = """
sdy.mesh @m = <["x"=2]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %x [0:8, 1:3] : (tensor<8x4xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}
"""
    assert verified(text, **{"0:4, 1:3": "0:4, 1:4:2"}).parting is not None
    assert "stablehlo.slice" in parting_of(verified(text, **{"0:4, 1:3": "0:4, 1:4:2"}))


def test_a_common_factor_is_named() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    twice = "%1 = stablehlo.add %x, %x : tensor<4xf32>\n%0 = stablehlo.add %1, %1"
    found = verified(text, text.replace("%0 = stablehlo.add %x, %x", twice))
    assert found.verdict is Verdict.DIFFERS
    assert found.comparisons[0].problem.endswith("each element is 2 times the expected one")


def test_a_mean_of_almost_the_right_weight_differs() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = stablehlo.constant dense<6.250000e-02> : tensor<4xf32>
      %0 = stablehlo.multiply %x, %c : tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    assert verified(text).verdict is Verdict.SAME
    assert verified(text, **{"6.250000e-02": "0.0625001"}).verdict is Verdict.DIFFERS


@pytest.mark.parametrize("op", ["negate", "abs", "sine", "cosine"])
def test_each_branch_is_taken(op: str) -> None:
    assert verified(CASE).verdict is Verdict.SAME
    assert verified(CASE, **{f"stablehlo.{op}": "stablehlo.tanh"}).verdict is Verdict.DIFFERS


def test_a_lost_bound_of_a_number_is_seen_in_each_seed() -> None:
    text = """func.func @main(%n: tensor<i32>, %m: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %c = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.maximum %n, %c : tensor<i32>
  %1 = stablehlo.minimum %m, %c : tensor<i32>
  return %0, %1 : tensor<i32>, tensor<i32>
}"""
    program = sdy.Program.from_text(text).partition()
    for returned in ("%n, %1", "%0, %c", "%c, %1", "%0, %m"):
        wrong = replace(program, local=parse_module(text.replace("return %0, %1", f"return {returned}"), "local.mlir"))
        found = [verify_sizes_as_they_are(wrong, seed).verdict for seed in range(4)]
        assert set(found) == {Verdict.DIFFERS}, returned


def test_a_number_is_on_both_sides_of_zero_in_each_seed() -> None:
    text = """func.func @main(%x: tensor<32xf32>, %n: tensor<f32>) -> (tensor<32xf32>, tensor<f32>) {
  %0 = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<32xf32>
  %1 = stablehlo.OP %x, %0 : tensor<32xf32>
  return %1, %n : tensor<32xf32>, tensor<f32>
}"""
    bounded = """%c = stablehlo.constant dense<0.0> : tensor<32xf32>
  %2 = stablehlo.OP %1, %c : tensor<32xf32>
  return %2,"""
    for op in ("minimum", "maximum"):
        program = sdy.Program.from_text(text.replace("OP", op)).partition()
        changed = text.replace("return %1,", bounded).replace("OP", op)
        wrong = replace(program, local=parse_module(changed, "local.mlir"))
        found = [verify_sizes_as_they_are(wrong, seed).verdict for seed in range(8)]
        assert set(found) == {Verdict.DIFFERS}, op


def test_a_maximum_over_the_rows_of_all_devices_shows_those_of_each() -> None:
    text = """sdy.mesh @m = <["x"=12]>
func.func @main(%x: tensor<24x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<f32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0, 1]
      : (tensor<24x8xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}"""
    program = sdy.Program.from_text(text).partition()
    other_rows = """%device = stablehlo.partition_id : tensor<ui32>
    %five = stablehlo.constant dense<5> : tensor<ui32>
    %is_five = stablehlo.compare EQ, %device, %five : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %negated = stablehlo.negate %arg0 : tensor<2x8xf32>
    %rows = stablehlo.select %is_five, %negated, %arg0 : tensor<i1>, tensor<2x8xf32>
    %cst ="""
    local = str(program)
    assert "%cst =" in local
    assert "stablehlo.reduce(%arg0 init" in local
    changed = local.replace("stablehlo.reduce(%arg0 init", "stablehlo.reduce(%rows init").replace("%cst =", other_rows)
    wrong = replace(program, local=parse_module(changed))
    found = [verify_sizes_as_they_are(wrong, seed).verdict for seed in range(8)]
    assert set(found) == {Verdict.DIFFERS}


def test_a_rounding_that_the_program_does_not_have_is_named() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}"""
    found: dict[str, Verification] = {}
    for name in ("f64", "bf16"):
        converted = f"""%0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4x{name}>
  %1 = stablehlo.convert %0 : (tensor<4x{name}>) -> tensor<4xf32>
  return %1"""
        found[name] = verified(text, text.replace("return %x", converted))
    assert [each.verdict for each in found.values()] == [Verdict.SAME] * 2
    assert found["f64"].not_reached == ()
    assert found["bf16"].not_reached == (
        "the rounding to bf16 at line 2, a type that the original program does not have",
    )


def test_an_index_of_one_place_is_also_taken_far_beyond_it() -> None:
    text = """func.func @main(%x: tensor<1xf32>, %i: tensor<1xi32>) -> (tensor<1xf32>, tensor<1xi32>) {
  %0 = stablehlo.abs %i : tensor<1xi32>
  %1 = "stablehlo.gather"(%x, %0) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}>
      : (tensor<1xf32>, tensor<1xi32>) -> tensor<1xf32>
  return %1, %i : tensor<1xf32>, tensor<1xi32>
}"""
    changed = text.replace("return %1, %i", "%2 = stablehlo.sign %i : tensor<1xi32>\n  return %1, %2")
    assert verified(text, changed).verdict is Verdict.DIFFERS


def test_choices_are_combined_while_they_are_few() -> None:
    draws = Draws(parse_module(CASE), 0)
    pairs = {(int(draw.inputs[0]), bool(draw.inputs[1])) for draw in draws}
    assert pairs == {(index, flag) for index in (-1, 0, 1, 2, 3) for flag in (False, True)}
    assert draws.missing == 0


def test_a_branch_that_no_draw_takes_is_named() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = stablehlo.constant dense<false> : tensor<i1>
      %0 = "stablehlo.if"(%c) ({
        %1 = stablehlo.negate %x : tensor<4xf32>
        stablehlo.return %1 : tensor<4xf32>
      }, {
        stablehlo.return %x : tensor<4xf32>
      }) : (tensor<i1>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    assert verified(text).not_reached == ("the true branch of the stablehlo.if at line 3",)


def test_given_integers_are_kept_and_floats_compared() -> None:
    program = sdy.Program.from_text(CASE)
    arrays = np.array(1, np.int32), np.array(True), np.ones(4, np.float32)
    found = program.verify(*arrays)
    assert found.verdict is Verdict.SAME
    assert not program.verify(*arrays, expected=[np.full(4, 2, np.float32)])[0].agrees
    assert program.verify(*arrays, expected=[np.ones(4, np.float32)])[0].agrees


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("%x: tensor<4x4xf32>, ", "", "the local program has 1 argument, expected 2"),
        ("%x: tensor<4x4xf32>", "%x: tensor<4x5xf32>", "argument 0 of the local program has the shape [4, 5]"),
        ("-> tensor<4x4xf32> {", "-> (tensor<4x4xf32>, tensor<4x4xf32>) {", "has 2 results, expected 1"),
    ],
)
def test_a_local_program_must_have_the_signature_of_a_shard(old: str, new: str, message: str) -> None:
    boundary = sdy.Program.from_text(PRODUCT).partition().boundary
    head = WITHOUT_SUM.partition("{")[0] + "{\n"
    text = head.replace(old, new) + "  %c = stablehlo.constant dense<0.0> : tensor<4x4xf32>\n  return %c"
    returned = ", %c : tensor<4x4xf32>, tensor<4x4xf32>\n}" if "results" in message else " : tensor<4x4xf32>\n}"
    with pytest.raises(SdyError) as error:
        check_local_program(parse_module(text + returned), boundary)
    assert error.value.diagnostics[0].code == "SDY-V004"
    assert message in error.value.diagnostics[0].message
