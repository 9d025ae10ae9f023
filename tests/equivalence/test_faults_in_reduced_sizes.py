"""Reduced verification and proof reject the seeded faults of local programs that full verification rejects.

By default a few faults of a few small models; with `pytest -m slow` more than 500, of all shared models and hard cases,
and some of models that are too large for full verification.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from support.execution.faults import faulty_copies
from support.jax_programs.shared_models import MISSING, MODELS
from xdsl.dialects.builtin import ModuleOp

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.interpreter.arrays.element_types import Array
from sdy.program.adversarial import adversarial_rounds
from sdy.program.arrays import random_inputs
from sdy.program.at_scale.reduced import verify_reduced
from sdy.program.partitioned import PartitionedProgram
from sdy.program.program import Program
from sdy.program.verification import compare_runs
from sdy.proof.prove import prove

SHARED = sorted(MODELS.glob("*.mlir"))
SAMPLE = ("matmul_case4", "mlp_dp4_tp2", "shard_map_all_to_all", "shard_map_ring_psum_scatter")
MOST_PER_PROGRAM = 80
pytestmark = pytest.mark.skipif(not SHARED, reason=MISSING)


@dataclass(frozen=True)
class FaultyProgram:
    """A program, with a local program that has a fault as its partitioned form."""

    original: Program
    partitioned: PartitionedProgram[Any]

    @property
    def module(self) -> ModuleOp:
        return self.original.module

    def partition(self) -> PartitionedProgram[Any]:
        return self.partitioned

    def run_flat(self, inputs: Sequence[Array]) -> list[Array]:
        return self.original.run_flat(inputs)

    def is_verified(self) -> bool:
        """Return whether verification in the original sizes accepts the program, in the declared and in wide types."""
        try:
            inputs = random_inputs(self.module, 0)
            found = compare_runs(self.module, self.partitioned, inputs, exact=True)
            return all(each.agrees for each in (*found, *adversarial_rounds(self, 0)))
        except SdyError:
            return False

    def is_verified_in_reduced_sizes(self) -> bool:
        try:
            return verify_reduced(self.module, self.partitioned).agrees
        except SdyError:
            return False

    def is_proved(self) -> bool:
        return prove(self.module, self.partitioned.local, self.partitioned.boundary).is_proved


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
            faulty = FaultyProgram(program, replace(partitioned, local=local))
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


@pytest.mark.slow
@pytest.mark.jax
def test_faults_of_all_programs_are_found(tmp_path: Path) -> None:
    outcome = Outcome()
    for path in (*SHARED, *generated("hard_cases.py", tmp_path)):
        outcome.try_faults(path, MOST_PER_PROGRAM)
    assert outcome.faults >= 500
    assert (outcome.proved, outcome.verified) == ([], [])


@pytest.mark.slow
@pytest.mark.jax
@pytest.mark.parametrize(("layers", "most"), [(2, 15), (32, 12)])
def test_faults_of_a_large_model_are_found(layers: int, most: int, tmp_path: Path) -> None:
    """On 512 devices only the two checks can tell: what is proved must not differ in a run."""
    (path,) = generated("gen_large.py", tmp_path, str(layers))
    program = sdy.load(path)
    partitioned = program.partition()
    faults = rejected = 0
    for name, local in islice(faulty_copies(partitioned.local, seed=1), most):
        faulty = FaultyProgram(program, replace(partitioned, local=local))
        is_verified = faulty.is_verified_in_reduced_sizes()
        if faulty.is_proved():
            assert is_verified, name
            continue
        faults += 1
        rejected += not is_verified
    assert faults >= most // 2
    assert rejected >= 0.9 * faults
