"""Time one program in a separate process: `python spmd_stopwatch.py unpartitioned|partitioned FILE`.

It prints a JSON object with the CPU and wall-clock seconds of a second run and the growth of the peak memory in bytes.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

from sdy.evidence.runs.arrays import load_arrays
from sdy.program.load import load


def main(mode: str, path: Path) -> dict[str, float]:
    """Time the second run: the first one includes compilation."""
    program, stored = load(path), load_arrays(str(path.with_suffix(".npz")))
    run = program.run_flat if mode == "unpartitioned" else program.partition().run_flat
    before = _peak()
    run(stored.inputs)
    cpu, wall = time.process_time(), time.perf_counter()
    results = run(stored.inputs)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    error = max(
        float(np.abs(np.subtract(found, expected)).max())
        for found, expected in zip(results, stored.outputs, strict=True)
    )
    return {"cpu": cpu, "wall": wall, "peak": _peak() - before, "error": error}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
