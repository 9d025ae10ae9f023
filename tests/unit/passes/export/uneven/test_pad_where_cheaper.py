"""Uneven dims are padded if that is cheaper, with a remark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdy.cost.collectives import CollectiveKind
from sdy.cost.statistics import CollectiveStatistics, Statistics
from sdy.passes.export.uneven.pad_where_cheaper import is_cheaper
from sdy.program.program import Program

PROGRAM = """sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}]>}}) -> tensor<{result}xf32> {{
  %0 = stablehlo.slice %a [1:8] : (tensor<8xf32>) -> tensor<7xf32>
  %1 = stablehlo.slice %a [0:7] : (tensor<8xf32>) -> tensor<7xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<7xf32>
  {line}
  return %3 : tensor<{result}xf32>
}}"""
GATHER = CollectiveKind.ALL_GATHER
EVEN = Statistics({GATHER: CollectiveStatistics(1, 1, 100.0)}, flops=10_000, peak_bytes=50)


def remarks_of(line: str, result: int) -> list[str]:
    program = Program.from_text(PROGRAM.format(line=line, result=result))
    return [remark.message for remark in program.partition().remarks if remark.code == "SDY-L122"]


def test_padding_is_remarked_with_its_savings() -> None:
    zero = "%z = stablehlo.constant dense<0.0> : tensor<f32>"
    line = "%3 = stablehlo.pad %2, %z, low = [0], high = [1], interior = [0]"
    (message,) = remarks_of(f"{zero}\n  {line} : (tensor<7xf32>, tensor<f32>) -> tensor<8xf32>", 8)
    assert "each device sends 4 bytes instead of 24, and holds 28 instead of 52" in message


def test_windows_of_shards_are_remarked() -> None:
    argument = 'tensor<1x16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}'
    program = Program.from_text(f"""sdy.mesh @m = <["x"=4]>
func.func @main(%a: {argument}, %k: tensor<5x8x8xf32>) -> tensor<1x12x8xf32> {{
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{}}
      {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
      : (tensor<1x16x8xf32>, tensor<5x8x8xf32>) -> tensor<1x12x8xf32>
  return %0 : tensor<1x12x8xf32>
}}""")
    remarks = program.partition().remarks
    (message,) = [each.message for each in remarks if each.code == "SDY-L122"]
    assert message.startswith("gave windows the sizes of shards: each device sends 224 bytes instead of 384")


def test_value_returned_immediately_is_not_padded() -> None:
    assert remarks_of("%3 = stablehlo.negate %2 : tensor<7xf32>", 7) == []


@pytest.mark.parametrize(
    ("padded", "expected"),
    [
        (EVEN, True),
        (replace(EVEN, peak_bytes=51), False),
        (replace(EVEN, collectives={GATHER: CollectiveStatistics(1, 1, 99.0)}, peak_bytes=500), True),
        (replace(EVEN, collectives={GATHER: CollectiveStatistics(1, 1, 101.0)}, flops=8_000), False),
        (replace(EVEN, collectives={GATHER: CollectiveStatistics(1, 1, 101.0)}, flops=7_000), True),
        (replace(EVEN, collectives={GATHER: CollectiveStatistics(1, 1, 102.0)}, flops=7_000), False),
    ],
)
def test_bytes_sent_are_compared_first(padded: Statistics, expected: bool) -> None:
    assert is_cheaper(padded, EVEN) is expected
