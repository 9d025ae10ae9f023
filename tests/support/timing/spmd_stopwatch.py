"""Runs of one program in a process of its own: `python spmd_stopwatch.py whole|partitioned FILE` prints a JSON object.

It holds the CPU seconds and the seconds of a second run, and the bytes by which runs raised the peak of the process.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

from sdy.program.arrays import load_arrays
from sdy.program.program import load


def main(mode: str, path: Path) -> dict[str, float]:
    """Time the run, once what is done once for all runs is done."""
    program, stored = load(path), load_arrays(str(path.with_suffix(".npz")))
    run = program.run_flat if mode == "whole" else program.partition().run_flat
    before = _peak()
    run(stored.inputs)
    cpu, wall = time.process_time(), time.perf_counter()
    results = run(stored.inputs)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    error = max(
        float(np.abs(np.subtract(found, wanted)).max()) for found, wanted in zip(results, stored.outputs, strict=True)
    )
    return {"cpu": cpu, "wall": wall, "peak": _peak() - before, "error": error}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
