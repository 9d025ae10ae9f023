"""Compare a program on shards with the same program on one device, and count its collectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from sdy.cost.collectives import CollectiveKind
from sdy.cost.statistics import statistics_of
from sdy.interpreter.arrays.element_types import Array
from sdy.program.program import Program

R = TypeVar("R")
Counts = dict[CollectiveKind, int]


def count_of_collectives(program: Program[R]) -> Counts:
    """Return the number of collectives of each kind in the local program."""
    found = statistics_of(program.partition().local).collectives
    return {kind: each.places for kind, each in found.items()}


def assert_same_on_shards(program: Program, inputs: Sequence[Array]) -> None:
    """Check that outputs on shards equal those on one device, up to rounding; zeros must have the same sign."""
    outcomes = program.verify(*inputs)
    assert outcomes
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == []
    for expected, result in zip(program.run_flat(inputs), program.partition().run_flat(inputs), strict=True):
        if expected.dtype.kind == "f":
            zeros = expected == 0
            np.testing.assert_array_equal(np.signbit(result[zeros]), np.signbit(expected[zeros]))
