"""Compare the time of a partitioned program on simulated devices with the unpartitioned program and with JAX."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest
from support.timing import spmd_stopwatch
from support.timing.medians import table

GENERATOR = Path(__file__).parents[3] / "shared" / "models" / "gen_spmd.py"
ROUNDS = 3
CPU_MOST = {256: 1.3, 4096: 2.2}  # of the CPU time of the run on one device
JAX_MOST = {256: 1.0}  # of the time of JAX on as many forced host devices; JAX does not support more
MEMORY_MOST = 2.0  # of the peak of the run on one device
SIZES, WIDE_SIZES = "256, 1024, 1024, 64, 32, 16, 2", "1024, 4096, 1024, 64, 32, 16, 4"  # in the generator
WIDE_DEVICES = 64
WIDE_JAX_MOST = 1.2  # of the time of JAX for the wide program; both spend it in matrix products

Run = dict[str, float]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not GENERATOR.exists():
        pytest.skip("the generator of the program, shared/models/gen_spmd.py, does not exist")
    return tmp_path_factory.mktemp("spmd")


def generate(folder: Path, devices: int, generator: Path = GENERATOR, *, is_timed: bool) -> float | None:
    """Write the program for a number of devices; return the seconds of JAX's second run if it is timed."""
    command = [sys.executable, str(generator), str(folder), str(devices), *["--time"] * is_timed]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = re.search(r"devices: ([\d.]+) s", done.stdout)
    return float(found[1]) if found else None


def measure(mode: str, path: Path, threads: int = 1, rounds: int = ROUNDS) -> Run:
    """Return the median of each measurement over a few processes.

    Each has one BLAS thread, because the CPU time of threads that wait would be counted.
    """
    script = Path(spmd_stopwatch.__file__)
    environment = os.environ | {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    runs: list[Run] = []
    for _ in range(rounds):
        command = [sys.executable, str(script), mode, str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        runs.append(json.loads(done.stdout))
    return {name: median(run[name] for run in runs) for name in runs[0]}


@pytest.mark.benchmark
def test_time_of_all_devices_is_close_to_that_of_the_unpartitioned_program(folder: Path) -> None:
    rows: list[tuple[object, ...]] = []
    ratios: dict[int, Run] = {}
    for devices in CPU_MOST:
        jax = generate(folder, devices, is_timed=devices in JAX_MOST)
        unpartitioned, partitioned = (
            measure(mode, folder / f"spmd_{devices}.mlir") for mode in ("unpartitioned", "partitioned")
        )
        assert partitioned["error"] < 1e-5
        ratios[devices] = {name: partitioned[name] / unpartitioned[name] for name in ("cpu", "peak")}
        cells = [f"{run['cpu']:.2f} s" for run in (unpartitioned, partitioned)] + [f"{ratios[devices]['cpu']:.2f}"]
        cells += [f"{run['peak'] / 2**20:.0f} MB" for run in (unpartitioned, partitioned)] + [
            f"{ratios[devices]['peak']:.2f}"
        ]
        if jax is None:
            cells += ["", ""]
        else:
            ratios[devices]["jax"] = partitioned["wall"] / jax
            cells += [f"{jax:.2f} s", f"{ratios[devices]['jax']:.2f}"]
        rows.append((devices, *cells))
    head = ("devices", "one", "all", "ratio", "peak of one", "of all", "ratio", "JAX", "ratio to JAX")
    print(table("running the program of one device on all devices, CPU time", head, rows))
    for devices, most in CPU_MOST.items():
        assert ratios[devices]["cpu"] <= most
        assert ratios[devices]["peak"] <= MEMORY_MOST
    for devices, most in JAX_MOST.items():
        assert ratios[devices]["jax"] <= most


@pytest.mark.benchmark
def test_a_wide_transformer_runs_about_as_fast_as_in_jax(folder: Path, tmp_path: Path) -> None:
    """Width 1,024 and four layers: both sides use all cores, and are timed by the clock."""
    generator = tmp_path / GENERATOR.name
    text = GENERATOR.read_text()
    assert SIZES in text
    generator.write_text(text.replace(SIZES, WIDE_SIZES))
    path, cores = folder / f"spmd_{WIDE_DEVICES}.mlir", len(os.sched_getaffinity(0))
    rounds: list[tuple[float, float, float]] = []
    for _ in range(ROUNDS):
        jax = generate(folder, WIDE_DEVICES, generator, is_timed=True)
        one, every = (measure(mode, path, cores, rounds=1) for mode in ("unpartitioned", "partitioned"))
        assert every["error"] < 1e-5
        assert jax is not None
        rounds.append((one["wall"], every["wall"], jax))
    one_device, all_devices, theirs = map(median, zip(*rounds, strict=True))
    cells = (f"{seconds:.2f} s" for seconds in (one_device, all_devices, theirs))
    head = ("devices", "one", "all", "JAX", "all / one", "all / JAX")
    row = (WIDE_DEVICES, *cells, f"{all_devices / one_device:.2f}", f"{all_devices / theirs:.2f}")
    print(table("four layers of width 1,024, clock time", head, [row]))
    assert all_devices <= WIDE_JAX_MOST * theirs
