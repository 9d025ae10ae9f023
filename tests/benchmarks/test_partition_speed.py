"""Compare the time of partitioning with that of propagation and that of XLA's compiler, on the same text."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support.timing.commands import measure_commands
from support.timing.medians import measure, table

MOST = 2.0  # times the time of propagation
XLA_MOST = 0.25  # of the time of XLA's compiler
DEPTH_MOST = 3.6  # 128 layers, times 32
DEVICES = 512  # of the mesh of the program


@pytest.mark.benchmark
def test_partitioning_takes_at_most_twice_as_long_as_propagation(llama: dict[int, Path]) -> None:
    rows: list[tuple[object, ...]] = []
    ratios: dict[int, float] = {}
    large = {layers: llama[layers] for layers in (32, 128)}
    for layers, (partition, propagate) in measure(large, "ours_partition", "ours_propagate").items():
        ratios[layers] = partition / propagate
        rows.append((layers, f"{partition:.2f} s", f"{propagate:.2f} s", f"{ratios[layers]:.2f}"))
    print(table("from shardings to the local program", ("layers", "partitioning", "propagation", "ratio"), rows))
    assert all(ratio <= MOST for ratio in ratios.values())


@pytest.mark.benchmark
def test_partitioning_takes_a_fraction_of_the_time_of_compiling(llama: dict[int, Path], tmp_path: Path) -> None:
    """XLA compiles the program for as many devices of the host; both times are those of processes."""
    (tmp_path / "program.mlir").write_text(llama[32].read_text())
    (tmp_path / "program.json").write_text(json.dumps({"devices": DEVICES, "dtypes": [], "is_run": False}))
    sdy = str(Path(sys.executable).with_name("sdy"))
    flags = f"XLA_FLAGS=--xla_force_host_platform_device_count={DEVICES}"
    xla = (sys.executable, "-m", "sdy.jax.to_devices.other_partitioners", "xla", str(tmp_path))
    local = str(tmp_path / "local.mlir")
    commands = {
        "`sdy partition`, 32 layers": (sdy, "partition", str(llama[32]), "-o", local),
        "`sdy partition`, 128 layers": (sdy, "partition", str(llama[128]), "-o", local),
        "XLA's compiler, 32 layers": ("env", flags, "JAX_PLATFORMS=cpu", *xla),
    }
    spent = measure_commands(commands, tmp_path / "cache")
    ours, deep, theirs = spent.values()
    rows = [(name, f"{seconds:.1f} s", f"{seconds / ours:.2f}") for name, seconds in spent.items()]
    print(table("from text to the program of one device", ("process", "CPU", "ratio"), rows))
    print(f"{ours / theirs:.2f} of the time of XLA")
    assert ours <= XLA_MOST * theirs
    assert deep <= DEPTH_MOST * ours
