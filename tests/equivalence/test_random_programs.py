"""Random programs, partitioned with and without the optimizer, compute on all devices what they do on one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.random_programs.draft import Options
from support.random_programs.program import random_program

from sdy.interpreter.element_types import Array, DType
from sdy.program.program import Program

OPTIONS = Options(ops=9, executable=True, max_devices=32)
SHARES = 8


def _inputs(program: Program, seed: int) -> list[Array]:
    """Small numbers: with large ones, products of sums overflow whichever way they are taken."""
    random = np.random.default_rng(seed)

    def drawn(shape: tuple[int, ...], dtype: DType) -> Array:
        if dtype.kind == "b":
            return random.integers(0, 2, shape).astype(dtype)
        if dtype.kind in "iu":
            return random.integers(0, 5, shape).astype(dtype)
        return (random.integers(-4, 5, shape) / 4).astype(dtype)

    return [drawn(shape, dtype) for shape, dtype in program.input_types]


def _problems(seed: int, *, optimize: bool) -> list[str]:
    program = replace(Program.from_text(random_program(seed, OPTIONS)), optimize_communication=optimize)
    return [outcome.problem for outcome in program.verify(_inputs(program, seed)) if not outcome.agrees]


@pytest.mark.parametrize("share", range(SHARES))
def test_a_random_program_computes_the_same(share: int) -> None:
    """200 programs, every other one without the optimizer."""
    wrong = {seed: found for seed in range(share, 200, SHARES) if (found := _problems(seed, optimize=seed % 2 == 0))}
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize("share", range(100))
def test_thousands_of_random_programs_compute_the_same(share: int) -> None:
    """5,000 programs, each with and without the optimizer."""
    seeds = range(1000 + share, 6000 + share, 100)
    wrong = {
        (seed, optimize): found
        for seed in seeds
        for optimize in (True, False)
        if (found := _problems(seed, optimize=optimize))
    }
    assert wrong == {}
