"""Time a step by `jax.jit` and `sdy.jit` in turns, in a separate process: `python step_stopwatch.py NAME`.

It prints a JSON object by side: the median seconds of a few runs by the clock and of the CPU, and what XLA counts in
the compiled program with one trip of each loop: flops, bytes accessed, bytes of temporaries.
"""

from __future__ import annotations

import json
import os
import sys
import time
from statistics import median
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax

import sdy
from support.jax_programs.timed_steps import STEPS

RUNS = 9
SIDES: dict[str, Any] = {"jax": jax.jit, "sdy": sdy.jit}


def measured(name: str) -> dict[str, dict[str, float]]:
    """Return the measurements of a step by side; the first runs, which compile, do not count."""
    step = STEPS[name]()
    arrays = step.arrays()
    functions = {side: jit(step.function) for side, jit in SIDES.items()}
    times: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
    for _ in range(RUNS + 1):
        for side, function in functions.items():
            clock, cpu = time.perf_counter(), time.process_time()
            jax.block_until_ready(function(*arrays))
            times[side].append((time.perf_counter() - clock, time.process_time() - cpu))
    found: dict[str, dict[str, float]] = {}
    for side, function in functions.items():
        compiled: Any = function.lower(*arrays).compile()
        counted = compiled.cost_analysis()
        clock, cpu = (median(column) for column in zip(*times[side][1:], strict=True))
        found[side] = {
            "clock": clock,
            "cpu": cpu,
            "flops": counted["flops"],
            "bytes": counted["bytes accessed"],
            "temporary": compiled.memory_analysis().temp_size_in_bytes,
        }
    return found


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1])))
