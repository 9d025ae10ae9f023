"""Programs of which some ops have no lemma: they are proved by exact runs of these, and their faults are not."""

from __future__ import annotations

import pytest
from support.execution.moved_rows import MESH, concatenated, padded, rotated, sliced
from support.execution.proved_faults import check_proof_and_faults
from support.execution.stencils import stencil
from support.slow_cases import slow_except

import sdy

PROGRAMS = {
    "roll": """
  %0 = stablehlo.slice %x [5:8, 0:4] : (tensor<8x4xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.slice %x [0:5, 0:4] : (tensor<8x4xf32>) -> tensor<5x4xf32>
  %r = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<8x4xf32>""",
    "an update of rows": """
  %u = stablehlo.slice %w [0:3, 0:4] : (tensor<4x4xf32>) -> tensor<3x4xf32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %x, %u, %i, %z
      : (tensor<8x4xf32>, tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>""",
    "known rows": """
  %n = stablehlo.constant dense<[[7], [0], [3]]> : tensor<3x1xi32>
  %0 = "stablehlo.gather"(%x, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims =
      [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
      : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %r = stablehlo.concatenate %0, %x, dim = 0 : (tensor<3x4xf32>, tensor<8x4xf32>) -> tensor<11x4xf32>""",
    "a convolution in groups": """
  %0 = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<8x1x4xf32>
  %1 = stablehlo.slice %w [0:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.reshape %1 : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
  %3 = stablehlo.convolution(%0, %2) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<8x1x4xf32>, tensor<1x2x4xf32>) -> tensor<8x1x4xf32>
  %r = stablehlo.reshape %3 : (tensor<8x1x4xf32>) -> tensor<8x4xf32>""",
}
TWO_SUMS = """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.tanh %x : tensor<8x4xf32>
  %r:2 = "stablehlo.reduce"(%x, %0, %z, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %s = stablehlo.add %a, %c : tensor<f32>
      %t = stablehlo.maximum %b, %d : tensor<f32>
      stablehlo.return %s, %t : tensor<f32>, tensor<f32>
  }) : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}
"""


def text_of(name: str) -> str:
    body = PROGRAMS[name]
    result = body.rsplit("->", maxsplit=1)[1].strip()
    columns = "{}" if "groups" in name else '{"y"}'  # groups of features are unsharded
    return f"""
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x4xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {columns}]>}},
    %w: tensor<4x4xf32>, %i: tensor<i32>) -> {result} {{{body}
  return %r : {result}
}}
"""


CROSS = [(1, 0), (-1, 0), (0, 1), (0, -1)]
SQUARE = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1)]
STAR = [(1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, 0, 0)]
X, YX = '[{"x"}, {}]', '[{"y", "x"}, {}]'
SHIFTED = f"""
sdy.mesh @m = {MESH}
func.func @main(%a: tensor<64x3xf32> {{sdy.sharding = #sdy.sharding<@m, {X}>}})
    -> (tensor<63x3xf32>, tensor<63x3xf32>) {{
  %0 = stablehlo.slice %a [0:63, 0:3] : (tensor<64x3xf32>) -> tensor<63x3xf32>
  %1 = stablehlo.slice %a [1:64, 0:3] : (tensor<64x3xf32>) -> tensor<63x3xf32>
  return %0, %1 : tensor<63x3xf32>, tensor<63x3xf32>
}}"""
PUT_BEFORE_AND_AFTER = """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<3xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %first = FIRST : (OPERAND) -> tensor<1x3xf32>
  %last = stablehlo.slice %a [63:64, 0:3] : (tensor<64x3xf32>) -> tensor<1x3xf32>
  %2 = stablehlo.concatenate %first, %a, %last, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}
    : (tensor<1x3xf32>, tensor<64x3xf32>, tensor<1x3xf32>) -> tensor<66x3xf32>
  %3 = stablehlo.tanh %2 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<66x3xf32>
  %r = stablehlo.reduce(%3 init: %one) applies stablehlo.add across dimensions = [0]
    : (tensor<66x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}"""
ONES = PUT_BEFORE_AND_AFTER.replace("FIRST", "stablehlo.broadcast_in_dim %one, dims = []").replace(
    "OPERAND", "tensor<f32>"
)
EDGES = PUT_BEFORE_AND_AFTER.replace("FIRST", "stablehlo.slice %a [0:1, 0:3]").replace("OPERAND", "tensor<64x3xf32>")
ROTATED_PART = f"""
sdy.mesh @m = {MESH}
func.func @main(%a: tensor<2x64x3xf32> {{sdy.sharding = #sdy.sharding<@m, [{{}}, {{"x"}}, {{}}]>}})
    -> (tensor<64x3xf32> {{sdy.sharding = #sdy.sharding<@m, {X}>}}) {{
  %0 = stablehlo.slice %a [1:2, 0:64, 0:3] : (tensor<2x64x3xf32>) -> tensor<1x64x3xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x64x3xf32>) -> tensor<64x3xf32>
  %2 = stablehlo.slice %1 [63:64, 0:3] : (tensor<64x3xf32>) -> tensor<1x3xf32>
  %3 = stablehlo.slice %1 [0:63, 0:3] : (tensor<64x3xf32>) -> tensor<63x3xf32>
  %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1x3xf32>, tensor<63x3xf32>) -> tensor<64x3xf32>
  return %4 : tensor<64x3xf32>
}}"""
ROWS = '{sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}'
REFLECTED = f"""
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x3xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}}) -> tensor<3xf32> {{
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.slice %a [1:2, 0:3] : (tensor<64x3xf32>) -> tensor<1x3xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<1x3xf32>
  %2 = stablehlo.concatenate %1, %a, dim = 0 {ROWS} : (tensor<1x3xf32>, tensor<64x3xf32>) -> tensor<65x3xf32>
  %3 = stablehlo.slice %2 [63:64, 0:3] : (tensor<65x3xf32>) -> tensor<1x3xf32>
  %4 = stablehlo.reverse %3, dims = [0] : tensor<1x3xf32>
  %5 = stablehlo.concatenate %2, %4, dim = 0 {ROWS} : (tensor<65x3xf32>, tensor<1x3xf32>) -> tensor<66x3xf32>
  %6 = stablehlo.tanh %5 {ROWS} : tensor<66x3xf32>
  %r = stablehlo.reduce(%6 init: %one) applies stablehlo.add across dimensions = [0]
    : (tensor<66x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}}"""
EXCHANGES = {
    "a row of ones before, the last one after": ONES,
    "the first row before, the last one after": EDGES,
    "all elements but the first or the last one": SHIFTED,
    "the first half": sliced(64, 0, 32, X),
    "the second half": sliced(64, 32, 64, YX),
    "elements across shards": sliced(64, 9, 33, X),
    "sub-axes": sliced(64, 8, 40, '[{"x":(2)2, "y"}, {}]'),
    "padding after": padded(32, 0, 32, X),
    "padding before": padded(32, 32, 0, YX),
    "padding on both sides": padded(32, 4, 28, X),
    "two operands": concatenated([32, 32], X),
    "three operands": concatenated([16, 8, 8], YX),
    "a rotation within a shard": rotated(64, 4, X),
    "a rotation by more than a shard": rotated(64, 20, X),
    "a rotation of one of two arrays": ROTATED_PART,
    "rows next to the edges, reflected": REFLECTED,
    "a periodic stencil": stencil("wrap", (32, 24), (0, 1), CROSS, '[{"x"}, {"y"}]', MESH),
    "a periodic stencil with corners": stencil("wrap", (32, 24), (0, 1), SQUARE, '[{"x"}, {"y"}]', MESH),
    "a stencil with edges": stencil("edge", (32, 24), (0, 1), CROSS, '[{"x"}, {"y"}]', MESH),
    "a stencil with reflected rows": stencil("reflect", (32, 6), (0, 1), CROSS, X, MESH),
    "a periodic stencil in space": stencil("wrap", (16, 8, 4), (0, 1, 2), STAR, '[{"x"}, {"y"}, {}]', MESH),
}


ARGMAX = """%1 = stablehlo.compare GT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %2 = stablehlo.compare NE, %p, %p, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %3 = stablehlo.or %1, %2 : tensor<i1>
  %4 = stablehlo.compare EQ, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %5 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %6 = stablehlo.and %4, %5 : tensor<i1>
  %7 = stablehlo.or %3, %6 : tensor<i1>
  %8 = stablehlo.select %3, %p, %q : tensor<i1>, tensor<f32>
  %9 = stablehlo.select %7, %i, %j : tensor<i1>, tensor<i32>
  stablehlo.return %8, %9 : tensor<f32>, tensor<i32>"""
LAST = """%1 = stablehlo.compare GE, %q, %p : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %8 = stablehlo.select %1, %q, %p : tensor<i1>, tensor<f32>
  %9 = stablehlo.select %1, %j, %i : tensor<i1>, tensor<i32>
  stablehlo.return %8, %9 : tensor<f32>, tensor<i32>"""


def reduction(reducer: str, value: str, places: str, sizes: tuple[int, ...], names: str = "%r") -> str:
    """Return a reduction along the last dim of pairs of a float and an integer."""
    whole, kept = ("".join(f"{size}x" for size in each) for each in (sizes, sizes[:-1]))
    return f"""%c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  {names}:2 = stablehlo.reduce({value} init: %c), ({places} init: %z) across dimensions = [{len(sizes) - 1}]
    : (tensor<{whole}f32>, tensor<{whole}i32>, tensor<f32>, tensor<i32>) -> (tensor<{kept}f32>, tensor<{kept}i32>)
  reducer(%p: tensor<f32>, %q: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {{
  {reducer}
  }}"""


def argmax(sizes: tuple[int, ...], mesh: str, axes: str) -> str:
    """Return an argmax along the last dim, which may be sharded."""
    whole, kept = ("".join(f"{size}x" for size in each) for each in (sizes, sizes[:-1]))
    return f"""sdy.mesh @m = <[{mesh}]>
func.func @main(%a: tensor<{whole}f32> {{sdy.sharding = #sdy.sharding<@m, [{axes}]>}}) -> tensor<{kept}i32> {{
  %n = stablehlo.iota dim = {len(sizes) - 1} : tensor<{whole}i32>
  {reduction(ARGMAX, "%a", "%n", sizes)}
  return %r#1 : tensor<{kept}i32>
}}"""


def top_k(sizes: tuple[int, ...], count: int, mesh: str, axes: str, returned: str) -> str:
    """Return the values (%v) or indices (%i), or both, of a top_k along the last dim, which may be sharded."""
    whole, kept = ("".join(f"{size}x" for size in each) for each in (sizes, (*sizes[:-1], count)))
    types = ", ".join(f"tensor<{kept}{'f32' if name == '%v' else 'i32'}>" for name in returned.split(", "))
    return f"""sdy.mesh @m = <[{mesh}]>
func.func @main(%a: tensor<{whole}f32> {{sdy.sharding = #sdy.sharding<@m, [{axes}]>}}) -> ({types}) {{
  %v, %i = chlo.top_k(%a, k = {count}) : tensor<{whole}f32> -> (tensor<{kept}f32>, tensor<{kept}i32>)
  return {returned} : {types}
}}"""


TWO_BY_TWO = '"x"=2, "y"=2'
SELECTIONS = {
    "argmax": argmax((8, 16), '"x"=4, "y"=2', '{}, {"x"}'),
    "argmax of a vector on two axes": argmax((16,), TWO_BY_TWO, '{"x", "y"}'),
    "argmax on axes in another order": argmax((4, 16), TWO_BY_TWO, '{}, {"y", "x"}'),
    "argmax of sharded rows": argmax((4, 16), TWO_BY_TWO, '{"x"}, {"y"}'),
    "largest values": top_k((8, 16), 2, '"x"=4, "y"=2', '{}, {"x"}', "%v"),
    "indices of the largest values": top_k((16,), 2, TWO_BY_TWO, '{"x", "y"}', "%i"),
    "largest values and their indices": top_k((4, 16), 4, TWO_BY_TWO, '{}, {"y", "x"}', "%v, %i"),
    "largest value of sharded rows": top_k((4, 16), 1, TWO_BY_TWO, '{"x"}, {"y"}', "%v, %i"),
}


ALL = {**{name: text_of(name) for name in PROGRAMS}, "two sums at once": TWO_SUMS, **EXCHANGES, **SELECTIONS}


@pytest.mark.parametrize("faults", slow_except([3], [3, 40]))
@pytest.mark.parametrize("name", ALL)
def test_our_partition_is_proved_and_faults_are_not(name: str, faults: int) -> None:
    check_proof_and_faults(ALL[name], faults=faults, seeds=2)


def test_large_values_are_proved() -> None:
    tokens = argmax((64, 128256), '"data"=8, "model"=16', '{"data"}, {"model"}')
    candidates = top_k((64, 128256), 50, '"data"=8, "model"=16', '{"data"}, {"model"}', "%v, %i")
    for text in (tokens, candidates):
        proof = sdy.Program.from_text(text).prove()
        assert proof.is_proved, proof.failures
