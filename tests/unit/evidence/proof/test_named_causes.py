"""A proof that ends in a loop names the op of the loop that is not proved."""

from __future__ import annotations

import pytest
from support.execution.one_op import MESHES, placement, program

from sdy.dialects.module_text import parse_module
from sdy.evidence.proof.prove import prove_by_lemmas
from sdy.model.devices.placement import ProgramPlacement

LOOP = """%z = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<9> : tensor<i32>
  %o = stablehlo.constant dense<1> : tensor<i32>
  %w:2 = stablehlo.while(%i = %z, %v = %arg0) : tensor<i32>, TYPE
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %o : tensor<i32>
      %s = stablehlo.sine %v : TYPE
      %u = OP
      %t = stablehlo.cosine %u : TYPE
      stablehlo.return %j, %t : tensor<i32>, TYPE
    }
  %r = stablehlo.negate %w#1 : TYPE"""


REVERSE = "stablehlo.reverse %s, dims = [0] : TYPE"
SORT = """"stablehlo.sort"(%s) <{dimension = 0 : i64}> ({
        ^bb0(%p: tensor<f32>, %q: tensor<f32>):
          %l = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %l : tensor<i1>
      }) : (TYPE) -> TYPE"""


@pytest.mark.parametrize(
    ("op", "cause"),
    [
        (SORT, "stablehlo.sort is not proved: expected a dim that is whole, got 2048 of 4096"),
        (REVERSE, "stablehlo.while is not proved: expected an iteration to keep carried value 1, which is windows of"),
    ],
)
def test_the_cause_in_a_loop_is_named(op: str, cause: str) -> None:
    mesh, shape = MESHES[0], (4096, 512)
    sharded = placement(shape, (("x",), ()), mesh)
    texts = [
        program(LOOP.replace("OP", op).replace("TYPE", each), [each], each)
        for each in ("tensor<4096x512xf32>", "tensor<2048x512xf32>")
    ]
    whole, local = (parse_module(each, "program.mlir") for each in texts)
    proof = prove_by_lemmas(whole, local, ProgramPlacement(mesh, (sharded,), (sharded,))).proof
    messages = [each.message for each in proof.failures]
    assert len(messages) == 2
    assert messages[0].startswith(cause)
    assert messages[1].startswith("result 0 is not proved: ")
