"""Random programs: most ops of each are proved, and no program with a fault that changes its results is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

import pytest
from support.execution.faults import faulty_copies
from support.random_programs.draft import Options
from support.random_programs.program import random_program

import sdy
from sdy.evidence.runs.arrays import random_inputs
from sdy.evidence.runs.verification import compare_runs
from sdy.evidence.whole_proof import prove

OPTIONS = Options(ops=9, executable=True, max_devices=32)


@dataclass
class Totals:
    """Counts over several programs."""

    ops: int = 0
    proved: int = 0
    faults: int = 0


def totals_of(seeds: range, faults: int) -> Totals:
    """Prove our partition of random programs, and with faults; a fault that is proved must not change results."""
    totals = Totals()
    for seed in seeds:
        program = sdy.Program.from_text(random_program(seed, OPTIONS))
        partitioned = program.partition()
        proof = program.prove()
        assert proof.share >= 0.95, (seed, proof.failures)
        totals.ops += proof.ops
        totals.proved += proof.proved
        if not proof.is_proved:
            continue
        for fault, faulty in islice(faulty_copies(partitioned.local, seed=seed), faults):
            totals.faults += 1
            if prove(replace(partitioned, local=faulty)).is_proved:
                inputs = tuple(random_inputs(program.module, 0))
                results = compare_runs(replace(partitioned, local=faulty), inputs)
                assert all(each.agrees for each in results), (seed, fault)
    return totals


def test_most_ops_of_random_programs_are_proved() -> None:
    totals = totals_of(range(15), faults=1)
    assert totals.proved > 0.95 * totals.ops  # for any size; the others are checked
    assert totals.faults > 3


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 2000, 100))
def test_no_wrong_random_program_is_proved(start: int) -> None:
    totals = totals_of(range(start, start + 100), faults=5)
    assert totals.faults > 20
