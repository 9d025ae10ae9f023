"""Planned reshards combined with other ops, and run on all devices."""

from __future__ import annotations

import numpy as np

from sdy.compile.propagated import boundary_of
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.sdy.collectives import AllReduceOp, AllToAllOp, ReduceScatterOp
from sdy.dialects.verification.verify_module import verify_module
from sdy.passes.export.reshards.plan_reshards import PlanReshardsPass
from sdy.passes.manager.partition_pipelines import LocalPipeline
from sdy.passes.run import run_passes
from sdy.program.program import Compiled, Program

MESH = 'sdy.mesh @g = <["p"=2, "q"=4]>\n'
TENSOR = "tensor<8x8xf32>"

PRODUCT = f"""{MESH}
func.func @main(%x: {TENSOR} {{sdy.sharding = #sdy.sharding<@g, [{{"p"}}, {{"q"}}]>}},
                %w: {TENSOR} {{sdy.sharding = #sdy.sharding<@g, [{{"q"}}, {{}}]>}})
    -> ({TENSOR} {{sdy.sharding = #sdy.sharding<@g, [{{}}, {{"p", "q"}}]>}}) {{
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    {{sdy.sharding = #sdy.sharding_per_value<[<@g, [{{"p"}}, {{}}]>]>}} : ({TENSOR}, {TENSOR}) -> {TENSOR}
  return %0 : {TENSOR}
}}"""

IN_BRANCHES = f"""{MESH}
func.func @main(%x: {TENSOR} {{sdy.sharding = #sdy.sharding<@g, [{{"p"}}, {{}}], unreduced={{"q"}}>}},
                %c: tensor<i1>) -> ({TENSOR} {{sdy.sharding = #sdy.sharding<@g, [{{}}, {{"p", "q"}}]>}}) {{
  %0 = sdy.all_reduce {{"q"}} %x out_sharding=<@g, [{{"p"}}, {{}}]> : {TENSOR}
  %1 = "stablehlo.if"(%c) ({{
    %2 = sdy.reshard %0 <@g, [{{}}, {{"p", "q"}}]> : {TENSOR}
    stablehlo.return %2 : {TENSOR}
  }}, {{
    %2 = sdy.reshard %0 <@g, [{{}}, {{"p", "q"}}]> : {TENSOR}
    stablehlo.return %2 : {TENSOR}
  }}) {{sdy.sharding = #sdy.sharding_per_value<[<@g, [{{}}, {{"p", "q"}}]>]>}} : (tensor<i1>) -> {TENSOR}
  return %1 : {TENSOR}
}}"""


def test_reshaped_and_sliced_sum_becomes_reduce_scatter() -> None:
    program = Program.from_text(PRODUCT)
    arrays = [np.arange(64, dtype=np.float32).reshape(8, 8), np.eye(8, dtype=np.float32) * 2]
    assert all(outcome.agrees for outcome in program.verify(*arrays))
    global_module = program.partition().global_module
    assert len(ops_of(global_module, ReduceScatterOp)) == 1
    assert not ops_of(global_module, AllReduceOp)
    (moved,) = ops_of(global_module, AllToAllOp)
    assert [(str(param.axes[0]), param.source, param.target) for param in moved.params.data] == [('"p"', 0, 1)]


SLICED = f"""{MESH}
func.func @main(%x: {TENSOR} {{sdy.sharding = #sdy.sharding<@g, [{{}}, {{}}], unreduced={{"q"}}>}})
    -> ({TENSOR} {{sdy.sharding = #sdy.sharding<@g, [{{"p", "q":(1)2}}, {{}}]>}}) {{
  %0 = sdy.all_reduce {{"q"}} %x out_sharding=<@g, [{{}}, {{}}]> : {TENSOR}
  %1 = sdy.reshard %0 <@g, [{{"p", "q":(1)2}}, {{}}]> : {TENSOR}
  return %1 : {TENSOR}
}}"""


def test_only_what_stays_on_a_device_is_reduced() -> None:
    module = parse_module(SLICED, "test.mlir")
    run_passes(make_context(), module, [PlanReshardsPass()])
    verify_module(module)
    collectives = [line.split(" out_sharding")[0] for line in str(module).splitlines() if "sdy." in line][2:]
    assert [line.split(" = ")[1] for line in collectives] == [
        'sdy.all_slice [{"p"}, {}] %0',
        'sdy.reduce_scatter [{"q":(1)2}, {}] %1',
        'sdy.all_reduce {"q":(2)2} %2',
    ]


def test_a_sum_for_two_branches_is_scattered_once() -> None:
    global_module = parse_module(IN_BRANCHES, "test.mlir")
    run_passes(make_context(), global_module, [PlanReshardsPass()])
    assert len(ops_of(global_module, ReduceScatterOp)) == 1
    assert not ops_of(global_module, AllReduceOp)
    local = global_module.clone()
    run_passes(make_context(), local, [LocalPipeline()])
    verify_module(local)
    array = np.arange(64, dtype=np.float32).reshape(8, 8)
    origin = Program.from_module(global_module).origin
    partitioned = Compiled(global_module, global_module, local, boundary_of(global_module), origin)
    (found,) = partitioned.run_flat([array, np.array(True)])
    np.testing.assert_array_equal(found, array)


SPLIT_IN_TWO_WAYS = """sdy.mesh @g = <["x"=3, "y"=6]>
func.func @main(%a: tensor<24x4xi32> {sdy.sharding = #sdy.sharding<@g, [{}, {"y":(3)2}]>})
    -> (tensor<24xi32> {sdy.sharding = #sdy.sharding<@g, [{"y":(1)2}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1]
    : (tensor<24x4xi32>, tensor<i32>) -> tensor<24xi32>
  return %0 : tensor<24xi32>
}"""


def test_a_sum_over_other_parts_of_an_axis_than_those_of_its_slices_is_sliced_afterwards() -> None:
    program = Program.from_text(SPLIT_IN_TWO_WAYS)
    assert all(outcome.agrees for outcome in program.verify())
    assert len(ops_of(program.partition().global_module, AllReduceOp)) == 1
