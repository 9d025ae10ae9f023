"""Running a small program on shards and on one device, and counting what the shards send each other for it."""

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
    """How many collectives of each kind there are in the local program."""
    found = statistics_of(program.partition().local).collectives
    return {kind: each.places for kind, each in found.items()}


def assert_same_on_shards(program: Program, inputs: Sequence[Array]) -> None:
    """Every output is the same on shards as on one device, to the sign of zeros; sums may be rounded otherwise."""
    outcomes = program.verify(*inputs)
    assert outcomes
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == []
    for whole, result in zip(program.run_flat(inputs), program.partition().run_flat(inputs), strict=True):
        if whole.dtype.kind == "f":
            zeros = whole == 0
            np.testing.assert_array_equal(np.signbit(result[zeros]), np.signbit(whole[zeros]))
