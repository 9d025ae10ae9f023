"""Known values: a reduction of equal elements is known only if no sum is rounded, whatever the order."""

from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np
import pytest

from sdy.evidence.proof.known import DTYPES, combined_copies
from sdy.evidence.proof.relations import Known, have_same_bits

NUMBERS = (0.0, -0.0, 1.0, -3.0, 0.5, 0.1, 2.0**23 + 1, 2.0**24, 1e30, float("inf"), float("nan"))
KINDS = {"add": np.add, "maximum": np.maximum, "minimum": np.minimum}
NEUTRAL = {"add": 0.0, "maximum": -np.inf, "minimum": np.inf}


def copies(element: str, number: float) -> Known:
    return Known(element, (4,), None, np.array([[number]]).astype(DTYPES[element]))


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_copies_of_a_float_are_combined_as_one_after_the_other(element: str) -> None:
    known = 0
    for number, kind, count in product(NUMBERS, KINDS, (1, 2, 3, 7, 64)):
        value = copies(element, number)
        found = combined_copies(value, kind, count)
        if found is not None:
            known += 1
            first = np.array(NEUTRAL[kind], DTYPES[element])
            expected = reduce(KINDS[kind], [value.rows[0, 0]] * count, first)
            assert have_same_bits(found.rows, np.array([[expected]], DTYPES[element])), (number, kind, count)
    assert known > 100


@pytest.mark.parametrize(("number", "count"), [(0.1, 3), (1e30, 2), (float("inf"), 2), (2.0**23 + 1, 2)])
def test_a_sum_that_may_be_rounded_is_not_known(number: float, count: int) -> None:
    assert combined_copies(copies("f32", number), "add", count) is None


def test_sums_of_integers_wrap_around() -> None:
    found = combined_copies(copies("i8", 100), "add", 3)
    assert found is not None
    assert found.rows.tolist() == [[44]]


def test_copies_that_differ_by_device_or_along_a_dim_are_not_combined() -> None:
    for dim, rows in ((None, [[1], [2]]), (0, [[1, 2, 3, 4]])):
        assert combined_copies(Known("i32", (4,), dim, np.array(rows, np.int32)), "add", 2) is None
