"""Rules on shards: the factors that need replication."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import parse_module
from sdy.grammar.write import write_rule
from sdy.partitioner.on_shards.shard_rules import shard_rule
from sdy.rules.all import sharding_rule

A = "tensor<8x4xf32>"
ARGUMENTS = (
    f"%a: {A}, %z: tensor<f32>, %i: tensor<i32>, %u: tensor<2x4xf32>, %k: tensor<3x4x8xf32>, %v: tensor<2x8x4xf32>, "
    "%m: tensor<8x8xf32>"
)
SORT = """({
^bb0(%p: tensor<f32>, %q: tensor<f32>):
  %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
})"""


def first_op(line: str) -> Operation:
    module = parse_module(f"func.func @main({ARGUMENTS}) {{\n{line}\nreturn\n}}")
    op = main_function(module).body.block.first_op
    assert op is not None
    return op


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"%0 = stablehlo.reverse %a, dims = [0] : {A}", "need_replication={i}"),
        (f'%0 = "stablehlo.sort"(%a) {SORT} : ({A}) -> {A}', "need_replication={j}"),
        (
            "%0 = stablehlo.pad %a, %z, low = [1, 0], high = [0, 0], interior = [0, 0] "
            f": ({A}, tensor<f32>) -> tensor<9x4xf32>",
            "need_replication={i}",
        ),
        (
            f"%0 = stablehlo.pad %a, %z, low = [1, 0], high = [-8, 0], interior = [1, 0] : ({A}, tensor<f32>) -> {A}",
            "need_replication={i}",
        ),
        (
            f"%0 = stablehlo.pad %a, %z, low = [1, 0], high = [-1, 0], interior = [0, 0] : ({A}, tensor<f32>) -> {A}",
            "([i, j], [])->([i, j]) {i=8, j=4}>",
        ),
        (
            "%0 = stablehlo.convolution(%v, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} "
            "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} "
            ": (tensor<2x8x4xf32>, tensor<3x4x8xf32>) -> tensor<2x6x8xf32>",
            "reduction={l} need_replication={j, k}",
        ),
        (
            f"%0 = stablehlo.dynamic_update_slice %a, %u, %i, %i : ({A}, tensor<2x4xf32>, tensor<i32>, tensor<i32>) "
            f"-> {A}",
            "need_replication={j}",
        ),
        (
            '%0 = "stablehlo.triangular_solve"(%m, %a) <{left_side = true, lower = true, unit_diagonal = false, '
            f"transpose_a = #stablehlo<transpose NO_TRANSPOSE>}}> : (tensor<8x8xf32>, {A}) -> {A}",
            "([i, k], [i, j])->([k, j]) {i=8, j=4, k=8} need_replication={i, k}",
        ),
        (f"%0 = stablehlo.custom_call @unheard_of(%a) : ({A}) -> tensor<3xf32>", "need_replication={i, j, k}"),
        (f"%0 = chlo.erf %a : {A} -> {A}", "([i, j])->([i, j]) {i=8, j=4}"),
    ],
)
def test_factors_that_need_replication(line: str, expected: str) -> None:
    rule = shard_rule(first_op(line))
    assert rule is not None
    assert expected in write_rule(rule)


def test_elementwise_and_transpose_keep_their_rule() -> None:
    transpose = f"%0 = stablehlo.transpose %a, dims = [1, 0] : ({A}) -> tensor<4x8xf32>"
    for line in (f"%0 = stablehlo.add %a, %a : {A}", transpose):
        op = first_op(line)
        assert shard_rule(op) == sharding_rule(op)


def test_ops_that_compute_nothing_have_no_rule() -> None:
    assert shard_rule(first_op(f"%0 = stablehlo.optimization_barrier %a : {A}")) is None
    assert shard_rule(first_op("%0 = stablehlo.iota dim = 0 : tensor<8xi32>")) is None
