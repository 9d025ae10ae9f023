"""Compare the time of `pip install` of our wheel, from a warm cache, with that of the libraries that it requires."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest
from support.timing.commands import cpu_seconds
from support.timing.medians import table

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ("xdsl>=0.74,<0.76", "lark", "numpy", "ml_dtypes")
MOST = 2.0  # times the installation of the libraries
ROUNDS = 3


@pytest.mark.benchmark
def test_installing_takes_little_more_than_its_libraries(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    sets = {"its libraries: xDSL, Lark, NumPy, ml_dtypes": LIBRARIES, "sdy with all it needs": (str(wheel),)}
    times = {name: _median_seconds(packages, tmp_path) for name, packages in sets.items()}
    rows = [(name, f"{wall:.1f} s", f"{cpu:.1f} s") for name, (wall, cpu) in times.items()]
    print(table("pip install, warm cache, new environment", ("installed", "time", "CPU"), rows))
    (_, libraries), (_, ours) = times.values()
    assert ours <= MOST * libraries


def _median_seconds(packages: tuple[str, ...], folder: Path) -> tuple[float, float]:
    """Return the wall-clock and CPU seconds of `pip install`. The first round fills pip's cache and is not counted."""
    runs = [_seconds_of_install(packages, folder / "environment") for _ in range(ROUNDS + 1)][1:]
    return median(wall for wall, _ in runs), median(cpu for _, cpu in runs)


def _seconds_of_install(packages: tuple[str, ...], environment: Path) -> tuple[float, float]:
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
    start = time.perf_counter()
    cpu = cpu_seconds([str(environment / "bin" / "pip"), "install", "--quiet", *packages], os.environ)
    return time.perf_counter() - start, cpu
