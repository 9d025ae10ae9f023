"""Random programs compute the same on all devices as on one, with four ways of partitioning.

These are `sdy partition` with and without the optimizer, and the passes of upstream with and without halo exchange.
`pytest -m slow tests/equivalence/test_random_programs.py` runs ten thousand programs in all four ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

import numpy as np
import pytest
from support.execution.partition_by_passes import partitioned, propagated
from support.random_programs.draft import Options
from support.random_programs.program import random_program
from support.slow_cases import slow_except

from sdy.diagnostics.diagnostic import SdyError
from sdy.evidence.runs.comparison import compare
from sdy.interpreter.arrays.element_types import Array, DType
from sdy.program.program import Program

OPTIONS = Options(ops=9, executable=True, max_devices=32)
SHARES = 8


def _inputs(program: Program, seed: int) -> list[Array]:
    """Return small numbers: products of sums of large ones overflow."""
    random = np.random.default_rng(seed)

    def drawn(shape: tuple[int, ...], dtype: DType) -> Array:
        if dtype.kind == "b":
            return random.integers(0, 2, shape).astype(dtype)
        if dtype.kind in "iu":
            return random.integers(0, 5, shape).astype(dtype)
        return (random.integers(-4, 5, shape) / 4).astype(dtype)

    return [drawn(shape, dtype) for shape, dtype in program.input_types]


def _partitioned(program: Program, inputs: Sequence[Array], *, optimize: bool) -> Sequence[Array]:
    return (program if optimize else program.without_optimizer()).partition().run_flat(inputs)


def _by_passes(program: Program, inputs: Sequence[Array], *, exchanges: bool) -> Sequence[Array]:
    return partitioned(program, propagated(program.module), exchanges=exchanges).run_flat(inputs)


PARTITIONERS: dict[str, Callable[[Program, Sequence[Array]], Sequence[Array]]] = {
    "optimizer on": partial(_partitioned, optimize=True),
    "optimizer off": partial(_partitioned, optimize=False),
    "halo exchange on": partial(_by_passes, exchanges=True),
    "halo exchange off": partial(_by_passes, exchanges=False),
}


def _problems(seed: int, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the differences in the results of a program, by the name of the partitioner."""
    program = Program.from_text(random_program(seed, OPTIONS))
    inputs = _inputs(program, seed)
    expected = program.run_flat(inputs)
    found: dict[str, list[str]] = {}
    for name in names:
        pairs = zip(PARTITIONERS[name](program, inputs), expected, strict=True)
        outcomes = [compare(index, *pair) for index, pair in enumerate(pairs)]
        problems = [outcome.problem for outcome in outcomes if not outcome.agrees]
        if problems:
            found[name] = problems
    return found


@pytest.mark.parametrize("share", slow_except([1, 5, 6], range(SHARES)))
def test_a_random_program_computes_the_same(share: int) -> None:
    """Check 200 programs, each with the optimizer or halo exchange on or off; 75 by default."""
    every = [*PARTITIONERS]
    wrong = {seed: found for seed in range(share, 200, SHARES) if (found := _problems(seed, every[seed % 2 :: 2]))}
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize("share", range(100))
def test_thousands_of_random_programs_compute_the_same(share: int) -> None:
    """10,000 programs in four ways.

    If a function is called twice, a sharding group may span manual computations, which cannot be propagated: of 100
    programs, two may be replaced by others.
    """
    wrong: dict[int, dict[str, list[str]]] = {}
    replaced: list[int] = []
    for seed in islice(range(1000 + share, 1_000_000, 100), 100 + 2):
        try:
            found = _problems(seed, [*PARTITIONERS])
        except SdyError as error:
            if error.diagnostics[0].code != "SDY-T108":
                raise
            replaced.append(seed)
            continue
        if found:
            wrong[seed] = found
    assert wrong == {}
    assert len(replaced) <= 2
