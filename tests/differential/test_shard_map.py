"""Compare `shard_map` programs with JAX on 8 CPU devices, unpartitioned and partitioned."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.execution.run_text import diagnostic_of
from support.jax_programs import shard_map_programs

import sdy
from sdy.evidence.runs.arrays import load_arrays

SCRIPT = Path(shard_map_programs.__file__)
# Devices disagree on its result, which JAX does not notice.
DISAGREEING = "first_wins"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs and the results of JAX, written by a process with 8 devices."""
    path = tmp_path_factory.mktemp("shard_map")
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, str(SCRIPT), str(path)], check=True, env=os.environ | flags, capture_output=True)
    return path


# One test for all, because JAX takes seconds to start, in every process that runs some of them.
def test_shard_map_computes_what_jax_computes(folder: Path) -> None:
    names = sorted(path.stem for path in folder.glob("*.mlir"))
    assert names == sorted([*shard_map_programs.PROGRAMS, "nested"])
    wrong: list[str] = []
    for name in names:
        stored = load_arrays(str(folder / f"{name}.npz"))
        program = sdy.load(folder / f"{name}.mlir")
        runs = {"unpartitioned": sdy.interpret(program, stored.inputs)}
        if name != DISAGREEING:
            runs["partitioned"] = list(sdy.run_spmd(program.partition(), stored.inputs).results)
        wrong += [f"{name}, {how}" for how, found in runs.items() if not np.array_equal(found[0], stored.outputs[0])]
    assert wrong == []


def test_devices_that_disagree_on_a_replicated_result_are_a_diagnostic(folder: Path) -> None:
    stored = load_arrays(str(folder / f"{DISAGREEING}.npz"))
    program = sdy.load(folder / f"{DISAGREEING}.mlir")
    assert diagnostic_of(lambda: sdy.run_spmd(program.partition(), stored.inputs)).code == "SDY-X101"
