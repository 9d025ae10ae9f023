"""Reduced verification and proof reject the seeded faults of local programs that full verification rejects.

By default a few faults of a few small models; with `pytest -m slow` more than 500, of all shared models and hard cases,
and some of models that are too large for full verification. One test per program or large fault, for these take
minutes: the slow ones together take two hours on two cores.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest
from support.execution.faults import faulty_copies
from support.jax_programs.shared_models import MISSING, MODELS

import sdy
from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import SdyError
from sdy.evidence.runs.reduced import verify_reduced
from sdy.evidence.runs.verification import verify_sizes_as_they_are
from sdy.evidence.whole_proof import prove

SHARED = sorted(MODELS.glob("*.mlir"))
SAMPLE = ("matmul_case4", "mlp_dp4_tp2", "shard_map_all_to_all", "shard_map_ring_psum_scatter")
MOST_PER_PROGRAM = 80
# Of the first faults of each program, those that full verification rejects. Two programs have no fault that it does.
FAULTS = {
    # shared models
    "cnn": 71,
    "constraint_transpose": 7,
    "decode_kv_cache": 7,
    "dropout_threefry": 22,
    "matmul_case1": 0,
    "matmul_case2": 10,
    "matmul_case3": 12,
    "matmul_case4": 14,
    "mlp_dp4_tp2": 35,
    "mlp_dp8": 33,
    "shard_map_all_gather_stacked": 2,
    "shard_map_all_gather_tiled": 2,
    "shard_map_all_to_all": 3,
    "shard_map_ppermute": 3,
    "shard_map_psum_scatter": 3,
    "shard_map_ring_psum_scatter": 18,
    "transformer_megatron": 72,
    "transformer_scan_fsdp": 78,
    "transformer_sgd_step": 73,
    # hard cases
    "argmax": 8,
    "concatenate": 16,
    "convolution_spatial": 10,
    "cumsum": 11,
    "difference_of_neighbours": 7,
    "fft": 10,
    "matmul_to_rows": 6,
    "matmul_transposed": 7,
    "reshard_three_dims": 5,
    "scan_over_layers": 5,
    "set_static_slice": 3,
    "strided_slice": 0,
    "table_lookup": 9,
    "top_k": 4,
}
# Faults of the large model that change no result, by its number of layers: the maximum of values of which at most one
# is not zero instead of their sum, and a mask that is missing although it is true everywhere.
WITHOUT_EFFECT = {2: frozenset((13,)), 32: frozenset((5,))}
pytestmark = pytest.mark.skipif(not SHARED, reason=MISSING)


@dataclass(frozen=True)
class FaultyProgram:
    """A program whose local program has a fault."""

    partitioned: Compiled[Any]

    def is_verified(self) -> bool:
        """Return whether verification in the original sizes accepts the program, on special values too."""
        try:
            return verify_sizes_as_they_are(self.partitioned, special=True).agrees
        except SdyError:
            return False

    def is_verified_in_reduced_sizes(self) -> bool:
        try:
            return verify_reduced(self.partitioned).agrees
        except SdyError:
            return False

    def is_proved(self) -> bool:
        return prove(self.partitioned).is_proved


@dataclass
class Outcome:
    """The number of faults that full verification rejects, and those of them that a check accepts all the same."""

    faults: int = 0
    proved: list[str] = field(default_factory=list[str])
    verified: list[str] = field(default_factory=list[str])

    def try_faults(self, path: Path, count: int) -> None:
        """Try up to `count` faults of a program. Those that full verification accepts change nothing."""
        program = sdy.load(path)
        partitioned = program.partition()
        for name, local in islice(faulty_copies(partitioned.local, seed=1), count):
            faulty = FaultyProgram(replace(partitioned, local=local))
            if faulty.is_verified():
                continue
            self.faults += 1
            self.proved += [f"{path.stem}: {name}"] if faulty.is_proved() else []
            self.verified += [f"{path.stem}: {name}"] if faulty.is_verified_in_reduced_sizes() else []


def generated(script: str, folder: Path, *arguments: str) -> list[Path]:
    """Return the programs that a script of the shared models writes into a folder."""
    command = [sys.executable, str(MODELS / script), str(folder), *arguments]
    # The script asks JAX for as many devices as it needs; the flags of these tests would override it.
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return sorted(folder.glob("*.mlir"))


@pytest.mark.parametrize("name", SAMPLE)
def test_some_faults_are_found(name: str) -> None:
    outcome = Outcome()
    outcome.try_faults(MODELS / f"{name}.mlir", 3)
    assert outcome.faults >= 1
    assert (outcome.proved, outcome.verified) == ([], [])


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The shared models and the hard cases, by name."""
    hard_cases = generated("hard_cases.py", tmp_path_factory.mktemp("hard_cases"))
    return {path.stem: path for path in (*SHARED, *hard_cases)}


def test_all_shared_models_are_tried() -> None:
    assert {path.stem for path in SHARED} <= FAULTS.keys()
    assert sum(FAULTS.values()) >= 500


@pytest.mark.slow
@pytest.mark.jax
@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_a_program_are_found(name: str, paths: dict[str, Path]) -> None:
    outcome = Outcome()
    outcome.try_faults(paths[name], MOST_PER_PROGRAM)
    assert outcome.faults >= FAULTS[name]
    assert (outcome.proved, outcome.verified) == ([], [])


@pytest.mark.slow
@pytest.mark.jax
def test_hard_cases_are_tried(paths: dict[str, Path]) -> None:
    assert paths.keys() == FAULTS.keys()


@pytest.mark.slow
@pytest.mark.jax
@pytest.mark.parametrize(("layers", "number"), [*product([2], range(15)), *product([32], range(12))])
def test_a_fault_of_a_large_model_is_found(layers: int, number: int, tmp_path: Path) -> None:
    """On 512 devices only the two checks can tell.

    A fault that makes the devices of a mesh axis unlike each other takes up to half an hour: no device can be left out,
    and a program that differs is run again with other rounding.
    """
    (path,) = generated("gen_large.py", tmp_path, str(layers))
    program = sdy.load(path)
    partitioned = program.partition()
    _, local = next(islice(faulty_copies(partitioned.local, seed=1), number, None))
    faulty = FaultyProgram(replace(partitioned, local=local))
    if number in WITHOUT_EFFECT[layers]:
        assert faulty.is_verified_in_reduced_sizes()
    else:
        assert not faulty.is_proved()
        assert not faulty.is_verified_in_reduced_sizes()
