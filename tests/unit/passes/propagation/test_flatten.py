from __future__ import annotations

from sdy.dialects.ir.walk import ops_of
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.elementwise import AbsOp, NegateOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp
from sdy.grammar.write import write_sharding
from sdy.passes.propagation.propagate import BasicPropagatePass
from sdy.passes.run import run_passes

USED_ABOVE = """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  "test.op"() ({
    "test.branch"() [^bb2] : () -> ()
  ^bb1:
    %read = stablehlo.negate %given : tensor<8xf32>
    "test.read"(%read) : (tensor<8xf32>) -> ()
    %dead = stablehlo.abs %unread : tensor<8xf32>
    "test.end"() : () -> ()
  ^bb2:
    %given = stablehlo.negate %a : tensor<8xf32>
    %unread = stablehlo.abs %a : tensor<8xf32>
    "test.branch"() [^bb1] : () -> ()
  }) : () -> ()
  return
}
"""


def test_a_block_can_precede_the_block_that_branches_to_it() -> None:
    context = make_context(allow_unregistered=True)
    module = parse_module(USED_ABOVE, context=context)
    run_passes(context, module, [BasicPropagatePass()])
    shardings = [sharding_of(op.results[0]) for op in ops_of(module, NegateOp)]
    assert [sharding and write_sharding(sharding) for sharding in shardings] == ['<@m, [{"x", ?}]>'] * 2
    assert ops_of(module, AbsOp) == []


ROTATED = """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8xf32>, %b: tensor<6xf32>, %c: tensor<2xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %high = stablehlo.slice %a [2:8] : (tensor<8xf32>) -> tensor<6xf32>
  %low = stablehlo.slice %a [0:2] : (tensor<8xf32>) -> tensor<2xf32>
  %rotated = stablehlo.concatenate %high, %low, dim = 0 : (tensor<6xf32>, tensor<2xf32>) -> tensor<8xf32>
  %joined = stablehlo.concatenate %b, %c, dim = 0 : (tensor<6xf32>, tensor<2xf32>) -> tensor<8xf32>
  return %rotated, %joined : tensor<8xf32>, tensor<8xf32>
}
"""


def test_ops_of_equal_types_can_have_different_rules() -> None:
    module = parse_module(ROTATED)
    run_passes(make_context(), module, [BasicPropagatePass(keep_sharding_rules=True)])
    rotated, joined = [str(op.attributes["sdy.sharding_rule"]) for op in ops_of(module, ConcatenateOp)]
    assert "permutation={i}" in rotated
    assert "need_replication={i}" in joined
