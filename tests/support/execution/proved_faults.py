"""Check that the proof accepts our partition of a program, and no fault in it that changes results."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.evidence.runs.arrays import random_inputs
from sdy.evidence.runs.verification import compare_runs
from sdy.evidence.whole_proof import prove
from support.execution.faults import faulty_copies


def check_proof_and_faults(text: str, *, faults: int, seeds: int) -> None:
    """Check a program and some faults in its local program; those that are proved run on inputs of several seeds."""
    program = sdy.Program.from_text(text)
    partitioned = program.partition()
    proof = program.prove()
    assert proof.is_proved, proof.failures
    for fault, faulty in islice(faulty_copies(partitioned.local, seed=5), faults):
        if prove(replace(partitioned, local=faulty)).is_proved:
            for seed in range(seeds):
                inputs = tuple(random_inputs(program.module, seed))
                try:
                    results = compare_runs(replace(partitioned, local=faulty), inputs)
                except SdyError:
                    results = []
                assert results, fault
                assert all(each.agrees for each in results), fault
