"""Random compositions of JAX functions: the partition computes the same, and nearly all of its ops are proved.

Some run by default, and many more with `pytest -m slow`. `PROVED` is the share of ops, over all compositions of a test.
"""

from __future__ import annotations

import pytest
from support.jax_programs.compositions import composition
from support.slow_cases import slow_except

import sdy

STEPS = 8
PROVED = 0.85  # of the ops, for any size; the others are checked


def check(seeds: range) -> None:
    """Verify and prove the compositions of some seeds."""
    ops = proved = 0
    for seed in seeds:
        case = composition(seed, STEPS)
        program = sdy.from_jax(case.function, *case.arguments)
        assert all(each.agrees for each in program.verify(seed=seed)), seed
        proof = program.prove()
        assert proof.is_proved, (seed, proof.failures)
        ops, proved = ops + proof.ops, proved + proof.proved
    assert proved >= PROVED * ops, (proved, ops)


@pytest.mark.parametrize("first", slow_except([12], range(0, 24, 12)))
def test_compositions_are_right_and_proved(first: int) -> None:
    check(range(first, first + 12))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(24, 1224, 60))
def test_many_compositions_are_right_and_proved(first: int) -> None:
    check(range(first, first + 60))
