"""Reduced verification and the proof accept random programs as we partition them: they raise no false alarm."""

from __future__ import annotations

import pytest
from support.random_programs.draft import Options
from support.random_programs.program import random_program

from sdy.evidence.runs.reduced import verify_reduced
from sdy.program.program import Program

OPTIONS = Options(ops=9, executable=True, max_devices=32)


def check_programs(seeds: range) -> None:
    """Partition random programs, and check each with both checks."""
    ops = proved = checked = 0
    for seed in seeds:
        program = Program.from_text(random_program(seed, OPTIONS))
        proof = program.prove()
        assert proof.share >= 0.95, (seed, proof.failures)
        assert verify_reduced(program.partition()).agrees, seed
        ops += proof.ops
        proved += proof.proved
        checked += proof.checked
    assert proved + checked > 0.99 * ops
    assert proved > 0.9 * ops  # for any size


def test_random_programs_are_accepted() -> None:
    check_programs(range(15))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 5000, 100))
def test_thousands_of_random_programs_are_accepted(start: int) -> None:
    check_programs(range(start, start + 100))
