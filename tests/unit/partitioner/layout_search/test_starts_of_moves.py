"""The search finds op layouts that no op would take alone, from all op layouts of an op."""

from __future__ import annotations

from sdy.cost.traffic import traffic_of
from sdy.program.program import Program

VALUE, SCORES = "tensor<2x64x4x8xf32>", "tensor<2x4x64x64xf32>"
ALONG_SEQUENCE = '{sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}, {}]>}'
HEADS = "tensor<2x4x64x8xf32>"
ATTENTION = f"""sdy.mesh @m = <["x"=8]>
func.func @main(%q: {VALUE} {ALONG_SEQUENCE}, %k: {VALUE} {ALONG_SEQUENCE}) -> ({VALUE} {ALONG_SEQUENCE}) {{
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
    : ({VALUE}, {VALUE}) -> {SCORES}
  %1 = stablehlo.exponential %0 : {SCORES}
  %2 = stablehlo.dot_general %1, %k, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1]
    : ({SCORES}, {VALUE}) -> {HEADS}
  %3 = stablehlo.dot_general %1, %q, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1]
    : ({SCORES}, {VALUE}) -> {HEADS}
  %4 = stablehlo.add %2, %3 : {HEADS}
  %5 = stablehlo.transpose %4, dims = [0, 2, 1, 3] : ({HEADS}) -> {VALUE}
  return %5 : {VALUE}
}}"""
# 20 x 96 and 24 x 80 elements have a common major factor of 4, along which neither operand nor result is sharded.
RESHAPE = """sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<20x96xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>})
    -> (tensor<24x80xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %0 = stablehlo.reshape %a : (tensor<20x96xf32>) -> tensor<24x80xf32>
  return %0 : tensor<24x80xf32>
}"""


def _collectives(text: str) -> list[tuple[str, float]]:
    program = Program.from_text(text)
    assert all(outcome.agrees for outcome in program.verify())
    return [(each.kind.value, each.bytes_per_run) for each in traffic_of(program.partition().local)]


def test_attention_along_a_sharded_sequence_is_sharded_along_batch_and_heads() -> None:
    shard = 2 * 64 * 4 * 8 * 4 / 8
    assert _collectives(ATTENTION) == [("all-to-all", 7 / 8 * shard)] * 3


def test_a_reshape_is_sharded_along_a_factor_that_no_neighbour_uses() -> None:
    shard = 20 * 96 * 4 / 4
    assert _collectives(RESHAPE) == [("all-to-all", 3 / 4 * shard)] * 2
