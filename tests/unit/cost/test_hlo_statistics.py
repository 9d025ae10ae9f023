"""Statistics of compiled HLO text: collectives in loops and calls, all forms of replica groups, and FLOPs."""

from __future__ import annotations

import pytest

from sdy.cost.collectives import CollectiveKind
from sdy.cost.statistics import CollectiveStatistics, HloModule

TEXT = """\
HloModule jit_f, is_scheduled=true, num_partitions=8

%product (a: f32[4,8], b: f32[8,2]) -> f32[4,2] {
  %a = f32[4,8]{1,0} parameter(0)
  %b = f32[8,2]{1,0} parameter(1)
  ROOT %dot.1 = f32[4,2]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

%body (state: (s32[], f32[16])) -> (s32[], f32[16]) {
  %state = (s32[], f32[16]{0}) parameter(0)
  %x = f32[16]{0} get-tuple-element(%state), index=1
  %sum = f32[16]{0} all-reduce(%x), channel_id=1, replica_groups=[2,4]<=[8], to_apply=%add
  %fusion = f32[4,2]{1,0} fusion(%p, %q), kind=kOutput, calls=%product
}

ENTRY %main (x: bf16[4], y: f32[4,6,6,2], k: f32[3,3,2,5]) -> bf16[8] {
  %x.1 = bf16[4]{0} parameter(0)
  %y = f32[4,6,6,2]{3,2,1,0} parameter(1)
  %k = f32[3,3,2,5]{3,2,1,0} parameter(2)
  %gather = bf16[8]{0} all-gather(%x.1), channel_id=2, replica_groups={{0,1},{2,3},{4,5},{6,7}}, dimensions={0}
  %both = (f32[2]{0}, pred[4]{0}) all-to-all(%u, %v), channel_id=3, replica_groups=mesh['x'=4,'y'=2] {'x':(2)2}
  %rows = f32[16]{0} collective-broadcast(%w), channel_id=4, replica_groups={{0,1,2,3}}
  %loop = (s32[], f32[16]{0}) while(%t), condition=%c, body=%body, backend_config={"known_trip_count":{"n":"5"}}
  %image = f32[4,4,4,5]{3,2,1,0} convolution(%y, %k), window={size=3x3}, dim_labels=b01f_01io->b01f
}
"""


def test_collectives_by_kind() -> None:
    assert HloModule(TEXT).statistics(peak_bytes=7).collectives == {
        CollectiveKind.ALL_REDUCE: CollectiveStatistics(places=1, runs=5, bytes_sent=5 * 2 * 3 / 4 * 64),
        CollectiveKind.ALL_GATHER: CollectiveStatistics(places=1, runs=1, bytes_sent=8.0),
        CollectiveKind.ALL_TO_ALL: CollectiveStatistics(places=1, runs=1, bytes_sent=(8 + 4) / 2),
        CollectiveKind.COLLECTIVE_BROADCAST: CollectiveStatistics(places=1, runs=1, bytes_sent=64.0),
    }


def test_flops_of_products_and_convolutions() -> None:
    product, convolution = 2 * 4 * 2 * 8, 2 * (4 * 4 * 4 * 5) * (3 * 3 * 2)
    assert HloModule(TEXT).statistics(peak_bytes=7).flops == 5 * product + convolution


IN_LOOP = """\
HloModule jit_f, num_partitions=8

%body (param: f32[4]) -> f32[4] {{
  %param = f32[4]{{0}} parameter(0)
  ROOT %gathered = {op}, channel_id=1, {groups}, dimensions={{0}}
}}

ENTRY %main (x: f32[4]) -> f32[4] {{
  %x = f32[4]{{0}} parameter(0)
  ROOT %loop = f32[4]{{0}} while(%x), condition=%cond, body=%body, backend_config={{"known_trip_count":{{"n":"3"}}}}
}}
"""


def test_collectives_in_the_condition_of_a_loop_count() -> None:
    gather = "f32[4]{0} all-gather(%param)", "replica_groups={{0,1,2,3},{4,5,6,7}}"
    text = IN_LOOP.format(op=gather[0], groups=gather[1]).replace(
        "condition=%cond, body=%body", "condition=%body, body=%other"
    )
    assert HloModule(text).statistics(peak_bytes=0).bytes_sent == 3 * 12


@pytest.mark.parametrize(
    ("op", "groups", "sent"),
    [
        ("f32[4]{0} all-gather(%param)", "replica_groups={{0,1,2,3},{4,5,6,7}}", 12),
        ("f32[4]{0} all-gather(%param)", "replica_groups=[4,2]<=[8]", 8),
        ("f32[4]{0} all-gather(%param)", "replica_groups=mesh['x'=4,'y'=2] {'x'}", 12),
        ("f32[4]{0} all-gather(%param)", "replica_groups=mesh['x'=4,'y'=2] {'x':(1)2}", 8),
        ("f32[4]{0} all-reduce(%param)", "replica_groups={}", 28),
        ("(f32[2]{0}, bf16[2]{0}) all-reduce(%param)", "replica_groups=[4,2]<=[8]", 12),
        ("pred[4]{0} collective-permute(%param)", "source_target_pairs={{0,1}}", 4),
    ],
)
def test_bytes_of_a_collective_in_a_loop(op: str, groups: str, sent: float) -> None:
    assert HloModule(IN_LOOP.format(op=op, groups=groups)).statistics(peak_bytes=0).bytes_sent == 3 * sent
