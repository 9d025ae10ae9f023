"""Estimates of runs are close to the memory that a run takes, and a run that does not fit is refused."""

from __future__ import annotations

import tracemalloc

import pytest
from support.examples import EXAMPLES

import sdy
from sdy.cost.quantities import rounded_bytes, seconds_text
from sdy.diagnostics.diagnostic import SdyError
from sdy.evidence.runs import run_estimate
from sdy.evidence.runs.arrays import random_inputs
from sdy.evidence.runs.device_copies import DeviceCopies
from sdy.evidence.runs.run_estimate import (
    RunEstimate,
    duration_text,
    estimate_of_run,
    estimate_on_devices,
)

PROGRAM = """
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<512x256xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
    %b: tensor<256x512xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}]>}) -> tensor<512x512xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<512x256xf32>, tensor<256x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}
"""
HUGE = """
func.func @main(%a: tensor<1000000x1000000xf32>) -> tensor<1000000x1000000xf32> {
  %0 = stablehlo.tanh %a : tensor<1000000x1000000xf32>
  return %0 : tensor<1000000x1000000xf32>
}
"""


def test_the_estimate_is_close_to_the_memory_of_a_run() -> None:
    program = sdy.Program.from_text(PROGRAM)
    partitioned = program.partition()
    inputs = random_inputs(program.module, 0)
    estimate = estimate_on_devices(partitioned.local, partitioned.boundary)
    partitioned.run_flat(inputs)  # imports what runs need
    tracemalloc.start()
    partitioned.run_flat(inputs)
    measured = tracemalloc.get_traced_memory()[1] + sum(each.nbytes for each in inputs)
    tracemalloc.stop()
    assert measured / 2 < estimate.bytes < 2 * measured


def test_devices_with_equal_copies_count_once() -> None:
    partitioned = sdy.Program.from_text(PROGRAM).partition()
    copies = DeviceCopies(partitioned.local, partitioned.boundary)
    main = next(iter(partitioned.local.ops))
    counts = [copies.count(each) for each in main.regions[0].block.args]
    assert counts == [4, 2]
    results = [copies.count(op.results[0]) for op in main.regions[0].block.ops if op.results]
    assert results == [8]


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_examples_are_within_the_budget(path: object) -> None:
    program = sdy.load(str(path))
    assert run_estimate.is_within_budget(estimate_of_run(program.module))


def test_a_run_that_does_not_fit_is_refused() -> None:
    with pytest.raises(SdyError, match=r"the run does not fit in memory: it takes about 8 TB") as error:
        sdy.Program.from_text(HUGE).verify()
    diagnostic = error.value.diagnostics[0]
    assert diagnostic.code == "SDY-X150"
    assert diagnostic.hint == "verify(reduced=True) runs smaller sizes"


def test_the_available_memory_is_known_without_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    with_proc = run_estimate.available_bytes()
    monkeypatch.setattr(run_estimate, "_MEMORY_INFO", run_estimate.Path("/nonexistent"))
    assert 0 < with_proc <= run_estimate.available_bytes()


def test_estimates_of_two_runs_add_up() -> None:
    assert RunEstimate(5, 1.0) + RunEstimate(7, 2.0) == RunEstimate(7, 3.0)
    assert str(RunEstimate(7_000_000_000, 7200.0)) == "about 2 hours and about 7 GB of memory"


def test_large_numbers_have_units() -> None:
    assert rounded_bytes(12) == "12 bytes"
    assert rounded_bytes(3e18) == "3,000 PB"
    assert (rounded_bytes(999_400), rounded_bytes(999_600)) == ("999 kB", "1 MB")
    assert duration_text(1.5) == "about 1.5 seconds"


def test_times_have_three_digits() -> None:
    texts = ["1.56 ns", "999 ns", "1 µs", "373 µs", "1 ms", "139 ms", "21.4 s", "86,400 s"]
    times = (1.562e-9, 999.4e-9, 999.6e-9, 3.728e-4, 9.996e-4, 0.1391, 21.43, 86400.0)
    assert [seconds_text(each) for each in times] == texts
