"""Verification of changes finds what verification of the whole module finds, and reports it with the same message."""

# ruff: noqa: E501 (a line of a program is a line here)
from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from support.module_edits import edits_of
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.verification.recheck import VerifiedModule
from sdy.dialects.verification.verify_module import verify_module

PROGRAM = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %p: tensor<i1>)
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = stablehlo.abs %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : tensor<8x8xf32>
  %1 = stablehlo.add %0, %a : tensor<8x8xf32>
  %2 = func.call @callee(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = "stablehlo.if"(%p) ({
    %inner = stablehlo.negate %3 : tensor<8xf32>
    stablehlo.return %inner : tensor<8xf32>
  }, {
    stablehlo.return %3 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %6 = sdy.sharding_constraint %5 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %7 = sdy.manual_computation(%6) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>]
      manual_axes={"x"} (%m: tensor<4x8xf32>) {
    %8 = stablehlo.tanh %m {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : tensor<4x8xf32>
    sdy.return %8 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %9 = sdy.named_computation<"block">(%7) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>]
      (%n: tensor<8x8xf32>) {
    %10 = stablehlo.sine %n : tensor<8x8xf32>
    sdy.return %10 : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %11 = stablehlo.cosine %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x8xf32>
  %12 = sdy.all_gather [{"x"}, {}] %11 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %13 = sdy.reshard %12 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
  %14 = stablehlo.dot_general %13, %0, contracting_dims = [1] x [0]
      {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=8, k=8} reduction={k}>}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %15 = sdy.constant dense<1.0> : tensor<8x8xf32>
  %16 = sdy.propagation_barrier %15 allowed_direction=FORWARD : tensor<8x8xf32>
  %17 = chlo.tan %16 : tensor<8x8xf32> -> tensor<8x8xf32>
  %18 = "other.op"(%17) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %19 = stablehlo.add %18, %14 : tensor<8x8xf32>
  return %19 : tensor<8x8xf32>
}
func.func private @callee(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.exponential %a : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
PARSED = parse_module(PROGRAM, context=make_context(allow_unregistered=True))


def parse() -> tuple[ModuleOp, list[Operation]]:
    """Return a copy of the program, and its ops in pre-order."""
    module = PARSED.clone()
    return module, [module, *pre_order(module)]


def problem(verify: Callable[[], None]) -> str | None:
    try:
        verify()
    except SdyError as error:
        return str(error.diagnostics)
    return None


EDITS = [(row, name) for row, op in enumerate(parse()[1]) for name in edits_of(op)]


def test_every_broken_module_is_found_with_the_message_of_full_verification() -> None:
    broken = 0
    for row, name in EDITS:
        module, ops = parse()
        verified = VerifiedModule(module)
        with verified.listening():
            edits_of(ops[row])[name](ops[row])
        expected = problem(lambda module=module: verify_module(module))
        assert problem(verified.verify) == expected, f"{name} of {ops[row].name}"
        broken += expected is not None
    assert broken >= 200


@irdl_op_definition
class LabelledOp(IRDLOperation):
    """An op of a user, which requires an attribute."""

    name = "mine.labelled"
    label = attr_def(StringAttr)


def test_an_op_of_a_user_may_require_an_attribute() -> None:
    op = LabelledOp.create(attributes={"label": StringAttr("a")})
    module = ModuleOp([op])
    verified = VerifiedModule(module)
    with verified.listening():
        del op.attributes["label"]
    found = problem(verified.verify)
    assert found is not None
    assert found == problem(lambda: verify_module(module))


@pytest.mark.parametrize("seed", range(12))
def test_each_of_a_sequence_of_edits_is_verified(seed: int) -> None:
    random = Random(seed)
    for _ in range(10):
        module, ops = parse()
        verified = VerifiedModule(module)
        for _ in range(8):
            for row, name in random.sample(EDITS, random.randint(1, 3)):
                op = ops[row]
                if name in edits_of(op) and op.get_toplevel_object() is module:
                    with verified.listening():
                        edits_of(op)[name](op)
            expected = problem(lambda module=module: verify_module(module))
            assert problem(verified.verify) == expected
            if expected is not None:
                break
