"""Measure medians of timings, each in a new process with empty caches; tasks to be compared alternate."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

STOPWATCH = Path(__file__).with_name("stopwatch.py")
ROUNDS = 5


def measure(files: Mapping[int, Path], *tasks: str, rounds: int = ROUNDS) -> dict[int, list[float]]:
    """Return the median of each task on each program, by the program's number of layers."""
    results: dict[int, list[list[float]]] = {layers: [[] for _ in tasks] for layers in files}
    for _ in range(rounds):
        for layers, file in files.items():
            for task, result in zip(tasks, results[layers], strict=True):
                result.append(_one(task, file))
    return {layers: list(map(median, timings)) for layers, timings in results.items()}


def _one(task: str, file: Path) -> float:
    done = subprocess.run(
        [sys.executable, str(STOPWATCH), task, str(file)], check=True, capture_output=True, text=True, timeout=600
    )
    return float(done.stdout)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return rows as a Markdown table, for the terminal and the docs."""
    lines = [f"\n{title}\n", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])
