"""The schedule and the memory curve cover all visits, and end with the figures of `sdy cost`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES
from xdsl.ir import OpResult

import sdy
from sdy.cost.executions import visits
from sdy.cost.machines.table import HARDWARE
from sdy.cost.memory import memory_curve, peak_bytes, values_at_peak
from sdy.cost.schedule import CollectiveRun, schedule_of

LOOP = """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<4x6xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %limit = stablehlo.constant dense<10> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<4x6xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0]
        : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    %3 = stablehlo.dot_general %x, %2, contracting_dims = [1] x [0]
        : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %4 = stablehlo.add %i, %two : tensor<i32>
    stablehlo.return %4, %3 : tensor<i32>, tensor<4x6xf32>
  }
  %5 = call @twice(%0#1) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %5 : tensor<4x6xf32>
}
func.func private @twice(%a: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.add %a, %a : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
"""
PROGRAMS = {"loop": sdy.Program.from_text(LOOP)} | {path.stem: sdy.load(path) for path in EXAMPLES}


@pytest.mark.parametrize("name", ["loop", *EXAMPLE_NAMES])
def test_scheduled_ops_are_consecutive_and_end_at_the_total_time(name: str) -> None:
    partitioned = PROGRAMS[name].partition()
    slots = schedule_of(partitioned.local, partitioned.boundary.mesh, HARDWARE["tpu_v5e"]).ops
    assert [slot.visit for slot in slots] == list(visits(partitioned.local))
    assert all(after.start == slot.end for slot, after in pairwise(slots))
    assert slots[-1].end == pytest.approx(partitioned.cost("tpu_v5e").seconds_in_turn)
    sent = sum(slot.seconds for slot in slots if isinstance(slot.work, CollectiveRun))
    assert sent == pytest.approx(partitioned.cost("tpu_v5e").communication_seconds)


def test_a_loop_takes_the_time_of_all_its_trips() -> None:
    partitioned = PROGRAMS["loop"].partition()
    slots = schedule_of(partitioned.local, partitioned.boundary.mesh, HARDWARE["tpu_v5e"]).ops
    dots = [slot for slot in slots if slot.visit.op.name == "stablehlo.dot_general"]
    assert [slot.visit.times for slot in dots] == [5, 5]
    assert all(slot.seconds == 5 * slot.work.seconds > 0 for slot in dots)


@pytest.mark.parametrize("name", ["loop", *EXAMPLE_NAMES])
def test_the_memory_curve_has_one_point_per_visit_and_its_maximum_is_the_peak(name: str) -> None:
    local = PROGRAMS[name].partition().local
    curve = memory_curve(local)
    assert len(curve) == len(list(visits(local)))
    assert max(curve) == peak_bytes(local)
    peak = values_at_peak(local)
    assert peak.curve == curve
    assert sum(peak.values.values()) == curve[peak.index] == max(curve)


def test_values_at_peak(tmp_path: Path) -> None:
    file = tmp_path / "chain.mlir"
    file.write_text("""
func.func @main(%a: tensor<8xf32> {jax.buffer_donor = true}) -> tensor<8xf32> {
  %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %1 = stablehlo.concatenate %0, %0, dim = 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %2 = stablehlo.slice %1 [0:8] : (tensor<32xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
""")
    local = sdy.load(file).partition().local
    curve = memory_curve(local)
    assert curve == [32 + 64, 64 + 128, 128 + 32, 32]
    peak = values_at_peak(local)
    assert peak.curve == curve
    assert [(value.index, size) for value, size in peak.values.items() if isinstance(value, OpResult)] == [
        (0, 64),
        (0, 128),
    ]
