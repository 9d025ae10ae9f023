from __future__ import annotations

from xdsl.dialects.func import FuncOp

from sdy.dialects.module_text import parse_module
from sdy.interpreter.executor import captured_by, compile_block
from sdy.interpreter.ops.all import KERNELS
from sdy.interpreter.sums_of_products import CompiledBlock


def function(text: str) -> FuncOp:
    (op,) = parse_module(text).ops
    assert isinstance(op, FuncOp)
    return op


def compiled(text: str) -> CompiledBlock:
    return compile_block(function(text).body.block, (), KERNELS)


def test_slots_are_freed_after_their_last_use() -> None:
    block = compiled("""
        func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
          %0 = stablehlo.add %a, %a : tensor<2xf32>
          %unused = stablehlo.negate %0 : tensor<2xf32>
          %1 = stablehlo.add %0, %0 : tensor<2xf32>
          return %1 : tensor<2xf32>
        }""")
    assert [step.operands for step in block.steps] == [(0, 0), (1,), (1, 1)]
    assert [step.results for step in block.steps] == [(1,), (2,), (3,)]
    assert [step.dead for step in block.steps] == [(0,), (2,), (1,)]
    assert block.results == (3,)


def test_tuples_are_slots_and_no_steps() -> None:
    block = compiled("""
        func.func @main(%a: tensor<f32>, %b: tensor<i32>) -> tensor<i32> {
          %0 = stablehlo.tuple %a, %b : tuple<tensor<f32>, tensor<i32>>
          %1 = stablehlo.tuple %0, %a : tuple<tuple<tensor<f32>, tensor<i32>>, tensor<f32>>
          %2 = stablehlo.get_tuple_element %1[0]
            : (tuple<tuple<tensor<f32>, tensor<i32>>, tensor<f32>>) -> tuple<tensor<f32>, tensor<i32>>
          %3 = stablehlo.get_tuple_element %2[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>
          return %3 : tensor<i32>
        }""")
    assert block.steps == ()
    assert block.results == (1,)


def test_a_region_gets_the_values_that_it_uses_from_outside() -> None:
    body = function("""
        func.func @main(%p: tensor<i1>, %a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
          %0 = "stablehlo.if"(%p) ({
            %1 = stablehlo.add %b, %a : tensor<f32>
            stablehlo.return %1 : tensor<f32>
          }, {
            stablehlo.return %b : tensor<f32>
          }) : (tensor<i1>) -> tensor<f32>
          return %0 : tensor<f32>
        }""").body.block
    branch = body.first_op
    assert branch is not None
    assert captured_by(branch) == (body.args[2], body.args[1])
    block = compile_block(body, (), KERNELS)
    assert block.steps[0].operands == (0, 2, 1)
    inner = compile_block(branch.regions[1].block, captured_by(branch), KERNELS)
    assert (inner.argument_count, inner.captured_count, inner.results) == (0, 2, (0,))
