"""Measure the CPU time of whole commands, each in a new process; commands to be compared alternate."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

ROUNDS = 5


def measure_commands(commands: Mapping[str, Sequence[str]], cache: Path) -> dict[str, float]:
    """Return the median CPU seconds of each command. Bytecode is written to `cache` in a first round, which is not
    counted.
    """
    spent: dict[str, list[float]] = {name: [] for name in commands}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(ROUNDS + 1):
        for name, command in commands.items():
            spent[name].append(cpu_seconds(command, environment | {"PYTHONPYCACHEPREFIX": str(cache)}))
    return {name: median(times[1:]) for name, times in spent.items()}


def cpu_seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Run a command, and return the CPU seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
