"""Programs in which one op has a dim that its axes do not divide."""

from __future__ import annotations

import re


def _sharded(*dims: str) -> str:
    """Return the sharding attribute of an op with one result. The size of a sub-axis follows its name."""
    refs = [[re.sub(r"^\w+", r'"\g<0>"', ref) for ref in dim.split()] for dim in dims]
    dims_text = ", ".join("{" + ", ".join(dim) + "}" for dim in refs)
    return f"{{sdy.sharding = #sdy.sharding_per_value<[<@m, [{dims_text}]>]>}}"


def _case(mesh: str, arguments: str, result: str, *lines: str) -> str:
    body = "\n  ".join(lines)
    return f"sdy.mesh @m = <[{mesh}]>\nfunc.func @main({arguments}) -> {result} {{\n  {body}\n}}\n"


def _reduction(op: str, reducer: str, initial: str) -> str:
    return _case(
        '"x"=4',
        "%a: tensor<7x3xi32>",
        "tensor<3xi32>",
        f"%0 = stablehlo.{op} %a {_sharded('x', '')} : tensor<7x3xi32>",
        f"%c = stablehlo.constant dense<{initial}> : tensor<i32>",
        f"%1 = stablehlo.reduce(%0 init: %c) applies stablehlo.{reducer} across dimensions = [0]"
        " : (tensor<7x3xi32>, tensor<i32>) -> tensor<3xi32>",
        "return %1 : tensor<3xi32>",
    )


CASES: dict[str, str] = {
    "reduce by the largest, of negative numbers": _reduction("negate", "maximum", "-2147483648"),
    "reduce by the least": _reduction("abs", "minimum", "2147483647"),
    "convolution of which each shard adds up a part": _case(
        '"x"=4',
        "%a: tensor<2x4x2xi32>, %b: tensor<3x2x2xi32>",
        "tensor<2x1x2xi32>",
        f"%0 = stablehlo.abs %a {_sharded('', 'x', '')} : tensor<2x4x2xi32>",
        f"%1 = stablehlo.abs %b {_sharded('x', '', '')} : tensor<3x2x2xi32>",
        "%2 = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]}"
        " {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
        " : (tensor<2x4x2xi32>, tensor<3x2x2xi32>) -> tensor<2x1x2xi32>",
        "return %2 : tensor<2x1x2xi32>",
    ),
    "sum of what is not zero for zero": _case(
        '"x"=4',
        "%a: tensor<7xf32>",
        "tensor<f32>",
        f"%0 = stablehlo.cosine %a {_sharded('x')} : tensor<7xf32>",
        "%c = stablehlo.constant dense<0.0> : tensor<f32>",
        "%1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0]"
        " : (tensor<7xf32>, tensor<f32>) -> tensor<f32>",
        "return %1 : tensor<f32>",
    ),
    "dot that contracts a sharded dim": _case(
        '"x"=4',
        "%a: tensor<3x7xf32>, %b: tensor<7x5xf32>",
        "tensor<3x5xf32>",
        f"%0 = stablehlo.cosine %a {_sharded('', 'x')} : tensor<3x7xf32>",
        f"%1 = stablehlo.cosine %b {_sharded('x', '')} : tensor<7x5xf32>",
        f"%2 = stablehlo.dot %0, %1 {_sharded('', '')} : (tensor<3x7xf32>, tensor<7x5xf32>) -> tensor<3x5xf32>",
        "return %2 : tensor<3x5xf32>",
    ),
    "convolution that contracts sharded features": _case(
        '"x"=2',
        "%a: tensor<1x8x3xf32>, %k: tensor<2x3x5xf32>",
        "tensor<1x7x5xf32>",
        f"%0 = stablehlo.cosine %a {_sharded('', '', 'x')} : tensor<1x8x3xf32>",
        f"%1 = stablehlo.cosine %k {_sharded('', 'x', '')} : tensor<2x3x5xf32>",
        "%2 = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}"
        f" {{batch_group_count = 1 : i64, feature_group_count = 1 : i64, {_sharded('', '', '')[1:]}"
        " : (tensor<1x8x3xf32>, tensor<2x3x5xf32>) -> tensor<1x7x5xf32>",
        "return %2 : tensor<1x7x5xf32>",
    ),
    "scatter of sharded updates": _case(
        '"x"=2',
        "%a: tensor<6xi32>, %u: tensor<3xi32>, %b: tensor<3x1xi32>",
        "tensor<6xi32>",
        f"%i = stablehlo.abs %b {_sharded('x', '')} : tensor<3x1xi32>",
        f"%0 = stablehlo.not %u {_sharded('x')} : tensor<3xi32>",
        '%1 = "stablehlo.scatter"(%a, %i, %0) <{scatter_dimension_numbers = #stablehlo.scatter<',
        "    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({",
        "  ^bb0(%p: tensor<i32>, %q: tensor<i32>):",
        "    %s = stablehlo.add %p, %q : tensor<i32>",
        "    stablehlo.return %s : tensor<i32>",
        "  }) : (tensor<6xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<6xi32>",
        "return %1 : tensor<6xi32>",
    ),
    "padding of a padded value": _case(
        '"x"=2',
        "%a: tensor<7xi32>",
        "tensor<15xi32>",
        f"%0 = stablehlo.not %a {_sharded('x')} : tensor<7xi32>",
        "%c = stablehlo.constant dense<5> : tensor<i32>",
        f"%1 = stablehlo.pad %0, %c, low = [4], high = [4], interior = [0] {_sharded('x')}"
        " : (tensor<7xi32>, tensor<i32>) -> tensor<15xi32>",
        "return %1 : tensor<15xi32>",
    ),
    "a dim sharded along one axis, then along two": _case(
        '"x"=2, "y"=4',
        "%a: tensor<5xi32>",
        "tensor<5xi32>",
        f"%0 = stablehlo.negate %a {_sharded('x')} : tensor<5xi32>",
        f"%1 = stablehlo.negate %0 {_sharded('x y')} : tensor<5xi32>",
        f"%2 = stablehlo.negate %1 {_sharded('y')} : tensor<5xi32>",
        f"%3 = stablehlo.negate %2 {_sharded('y x')} : tensor<5xi32>",
        f"%4 = stablehlo.negate %3 {_sharded('x')} : tensor<5xi32>",
        "return %4 : tensor<5xi32>",
    ),
    "axes that move between uneven dims": _case(
        '"x"=2, "y"=4',
        "%a: tensor<5x7xi32>",
        "tensor<5x7xi32>",
        f"%0 = stablehlo.negate %a {_sharded('x y', '')} : tensor<5x7xi32>",
        f"%1 = stablehlo.negate %0 {_sharded('x', 'y')} : tensor<5x7xi32>",
        f"%2 = stablehlo.negate %1 {_sharded('', 'y x')} : tensor<5x7xi32>",
        "return %2 : tensor<5x7xi32>",
    ),
    "a loop over a sharded value": _case(
        '"x"=4',
        "%a: tensor<7xi32>",
        "tensor<7xi32>",
        f"%0 = stablehlo.negate %a {_sharded('x')} : tensor<7xi32>",
        "%n = stablehlo.constant dense<0> : tensor<i32>",
        "%1:2 = stablehlo.while(%p = %0, %q = %n) : tensor<7xi32>, tensor<i32>"
        ' attributes {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>, <@m, []>]>}',
        "cond {",
        "  %e = stablehlo.constant dense<3> : tensor<i32>",
        "  %t = stablehlo.compare LT, %q, %e : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "  stablehlo.return %t : tensor<i1>",
        "} do {",
        "  %o = stablehlo.constant dense<1> : tensor<i32>",
        "  %r = stablehlo.add %q, %o : tensor<i32>",
        f"  %s = stablehlo.add %p, %p {_sharded('x')} : tensor<7xi32>",
        "  stablehlo.return %s, %r : tensor<7xi32>, tensor<i32>",
        "}",
        "return %1#0 : tensor<7xi32>",
    ),
    "a constant": _case(
        '"x"=2',
        "%a: tensor<3x3xi32>",
        "tensor<3x3xi32>",
        "%c = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>",
        f"%k = sdy.constant {_sharded('', 'x')} dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>",
        f"%0 = stablehlo.add %k, %c {_sharded('', 'x')} : tensor<3x3xi32>",
        f"%1 = stablehlo.dot %a, %0 {_sharded('', 'x')} : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi32>",
        "return %1 : tensor<3x3xi32>",
    ),
    "padding by what is not zero, several shards away": _case(
        '"x"=8',
        "%a: tensor<15xi32>",
        "tensor<20xi32>",
        f"%0 = stablehlo.negate %a {_sharded('x')} : tensor<15xi32>",
        "%c = stablehlo.constant dense<7> : tensor<i32>",
        f"%1 = stablehlo.pad %0, %c, low = [4], high = [1], interior = [0] {_sharded('x')}"
        " : (tensor<15xi32>, tensor<i32>) -> tensor<20xi32>",
        "return %1 : tensor<20xi32>",
    ),
    "a shift by padding that keeps the size": _case(
        '"x"=4',
        "%a: tensor<8xi32>",
        "tensor<8xi32>",
        f"%0 = stablehlo.negate %a {_sharded('x')} : tensor<8xi32>",
        "%c = stablehlo.constant dense<7> : tensor<i32>",
        f"%1 = stablehlo.pad %0, %c, low = [1], high = [-1], interior = [0] {_sharded('x')}"
        " : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>",
        "return %1 : tensor<8xi32>",
    ),
    "rows gathered from a sharded dim": _case(
        '"x"=4',
        "%a: tensor<7x3xi32>, %i: tensor<9x1xi32>",
        "tensor<9x3xi32>",
        f"%0 = stablehlo.not %a {_sharded('x', '')} : tensor<7x3xi32>",
        '%1 = "stablehlo.gather"(%0, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],'
        " collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,"
        f" slice_sizes = array<i64: 1, 3>}}> {_sharded('', '')}"
        " : (tensor<7x3xi32>, tensor<9x1xi32>) -> tensor<9x3xi32>",
        "return %1 : tensor<9x3xi32>",
    ),
    "a sort along an unsharded dim": _case(
        '"x"=2',
        "%a: tensor<3x5xi32>",
        "tensor<3x5xi32>",
        f"%0 = stablehlo.negate %a {_sharded('x', '')} : tensor<3x5xi32>",
        '%1 = "stablehlo.sort"(%0) <{dimension = 1 : i64}> ({',
        "  ^bb0(%p: tensor<i32>, %q: tensor<i32>):",
        "    %t = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "    stablehlo.return %t : tensor<i1>",
        f"  }}) {_sharded('x', '')} : (tensor<3x5xi32>) -> tensor<3x5xi32>",
        "return %1 : tensor<3x5xi32>",
    ),
    "a scatter of updates as long as the sharded dim": _case(
        '"x"=2',
        "%a: tensor<3x4xi32>, %i: tensor<3x1xi32>, %u: tensor<3x4xi32>",
        "tensor<3x4xi32>",
        f"%0 = stablehlo.negate %a {_sharded('', 'x')} : tensor<3x4xi32>",
        f"%1 = stablehlo.remainder %i, %i {_sharded('', '')} : tensor<3x1xi32>",
        '%2 = "stablehlo.scatter"(%0, %1, %u) <{scatter_dimension_numbers = #stablehlo.scatter<'
        "update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0],"
        " scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({",
        "  ^bb0(%p: tensor<i32>, %q: tensor<i32>):",
        "    %t = stablehlo.add %p, %q : tensor<i32>",
        "    stablehlo.return %t : tensor<i32>",
        f"  }}) {_sharded('', 'x')} : (tensor<3x4xi32>, tensor<3x1xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>",
        "return %2 : tensor<3x4xi32>",
    ),
    "a convolution of windows that overlap in the next shard": _case(
        '"x"=2, "y"=2',
        "%a: tensor<2x4x2xi32>, %b: tensor<2x2x4xi32>",
        "tensor<1x5x4xi32>",
        f"%0 = stablehlo.negate %a {_sharded('', 'y', '')} : tensor<2x4x2xi32>",
        f"%1 = stablehlo.negate %b {_sharded('x', '', '')} : tensor<2x2x4xi32>",
        "%2 = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],"
        " window = {stride = [1], pad = [[1, 1]]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64,"
        ' sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"y"}, {}]>]>}'
        " : (tensor<2x4x2xi32>, tensor<2x2x4xi32>) -> tensor<1x5x4xi32>",
        "return %2 : tensor<1x5x4xi32>",
    ),
    "reverse along a sub-axis of an axis that also shards another dim, after another axis": _case(
        '"s"=2, "t"=6',
        "%a: tensor<4x7xi32>",
        "tensor<4x7xi32>",
        f"%0 = stablehlo.negate %a {_sharded('t:(1)3', 's t:(3)2')} : tensor<4x7xi32>",
        f"%1 = stablehlo.reverse %0, dims = [0] {_sharded('t:(1)3', 's t:(3)2')} : tensor<4x7xi32>",
        "return %1 : tensor<4x7xi32>",
    ),
    "reshape of one dim while another axis shards another dim": _case(
        '"x"=2, "y"=4',
        "%a: tensor<4x6xi32>",
        "tensor<4x2x3xi32>",
        f"%0 = stablehlo.negate %a {_sharded('x', 'y')} : tensor<4x6xi32>",
        f"%1 = stablehlo.reshape %0 {_sharded('x', 'y:(1)2', 'y:(2)2')} : (tensor<4x6xi32>) -> tensor<4x2x3xi32>",
        "return %1 : tensor<4x2x3xi32>",
    ),
    "reshape of a sharded dim of size 1 to a scalar, after a barrier": _case(
        '"x"=2',
        "%a: tensor<1xi32>",
        "tensor<i32>",
        f"%0 = stablehlo.abs %a {_sharded('x')} : tensor<1xi32>",
        "%1 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<1xi32>",
        "%2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>",
        "return %2 : tensor<i32>",
    ),
    "a barrier after which a dim is annotated as unsharded": _case(
        '"x"=2',
        "%a: tensor<3xi32>",
        "tensor<3xi32>",
        f"%0 = stablehlo.negate %a {_sharded('x')} : tensor<3xi32>",
        f"%1 = sdy.propagation_barrier %0 allowed_direction=NONE {_sharded('')} : tensor<3xi32>",
        "return %1 : tensor<3xi32>",
    ),
}
