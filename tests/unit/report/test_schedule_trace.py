"""The trace of a schedule: the format of Chrome and Perfetto, and the total time of `sdy cost`."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import TypedDict, cast

import pytest
from support.examples import EXAMPLES

import sdy
from sdy.tools.main import main

(FILE,) = (path for path in EXAMPLES if path.stem == "mlp_dp4_tp2")
LOOP = """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<4x4xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %limit = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<4x4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2 = stablehlo.add %x, %x : tensor<4x4xf32>
    %3 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %3, %2 : tensor<i32>, tensor<4x4xf32>
  }
  return %0#1 : tensor<4x4xf32>
}
"""


class Event(TypedDict):
    """The fields of an event that the tests read; metadata events have no times, and counters no track."""

    ph: str
    pid: int
    tid: int
    name: str
    ts: float
    dur: float
    args: dict[str, object]


class Trace(TypedDict):
    """The fields of a trace that the tests read."""

    traceEvents: list[Event]
    otherData: dict[str, object]


def written_trace(tmp_path: Path) -> Trace:
    out = tmp_path / "trace.json"
    assert main(["cost", str(FILE), "--on", "tpu_v5e", "--trace", str(out)]) == 0
    return cast(Trace, json.loads(out.read_text()))


def slices_by_track(trace: Trace) -> dict[str, list[Event]]:
    names = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert all(isinstance(name, str) for name in names.values())
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    return {str(name): [event for event in slices if event["tid"] == tid] for tid, name in names.items()}


def test_events_are_in_order_and_do_not_overlap_on_their_track(tmp_path: Path) -> None:
    trace = written_trace(tmp_path)
    tracks = slices_by_track(trace)
    assert list(tracks) == ["loops", "compute", "links of data", "links of model"]
    timed = [event for event in trace["traceEvents"] if event["ph"] != "M"]
    assert [event["ts"] for event in timed] == sorted(event["ts"] for event in timed)
    for events in tracks.values():
        for before, after in pairwise(events):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-9


def test_the_trace_ends_at_the_total_time_of_the_cost(tmp_path: Path) -> None:
    trace, cost = written_trace(tmp_path), sdy.load(FILE).optimized_for("tpu_v5e").cost("tpu_v5e")
    tracks = slices_by_track(trace)
    end = max(event["ts"] + event["dur"] for events in tracks.values() for event in events)
    assert end == pytest.approx(cost.seconds_in_turn * 1e6, abs=2e-3)
    assert trace["otherData"] == {"machine": "tpu_v5e", "seconds": pytest.approx(cost.seconds_in_turn)}
    per_slice = 1e-3  # rounded to a nanosecond
    computing = sum(event["dur"] for event in tracks["compute"])
    assert computing == pytest.approx(cost.op_seconds * 1e6, abs=per_slice * len(tracks["compute"]))
    sent = {str(event["ts"]): event for name, events in tracks.items() if "links" in name for event in events}
    assert sum(int(str(event["args"]["bytes sent"])) for event in sent.values()) == round(
        sum(each.bytes_sent for each in cost.collectives)
    )
    peak = max(int(str(event["args"]["bytes"])) for event in trace["traceEvents"] if event["ph"] == "C")
    assert peak == cost.peak_bytes


def test_events_have_their_line(tmp_path: Path) -> None:
    lines = FILE.read_text().splitlines()
    dots = [event for event in slices_by_track(written_trace(tmp_path))["compute"] if event["name"] == "dot_general"]
    assert dots
    for event in dots:
        assert "stablehlo.dot_general" in lines[int(str(event["args"]["line"])) - 1]


def test_a_loop_is_one_event_with_its_trip_count() -> None:
    program = sdy.Program.from_text(LOOP)
    tracks = slices_by_track(cast(Trace, program.schedule_trace("h100")))
    (loop,) = tracks["loops"]
    assert (loop["name"], loop["args"]["trips"]) == ("while, 3 trips", 3)
    inside = [event for event in tracks["compute"] if event["name"] == "add"]
    assert [event["args"]["runs"] for event in inside] == [3, 3]
    assert all(loop["ts"] <= event["ts"] and event["ts"] + event["dur"] <= loop["ts"] + loop["dur"] for event in inside)
