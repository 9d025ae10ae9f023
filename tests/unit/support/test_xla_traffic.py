"""Bytes are counted per device, with the trips of loops and every notation of replica groups."""

from __future__ import annotations

import pytest
from support.oracle.xla_traffic import bytes_sent_by_xla

HLO = """\
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
    assert bytes_sent_by_xla(HLO.format(op=op, groups=groups)) == 3 * sent
