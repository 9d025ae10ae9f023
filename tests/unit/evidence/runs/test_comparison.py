"""The comparison of the outputs of two runs."""

from __future__ import annotations

import numpy as np
import pytest

from sdy.evidence.runs.comparison import compare

INFINITE = complex(np.inf, 0.25)


def test_large_integers_that_differ_by_one_differ() -> None:
    found = compare(0, np.array([2**60]), np.array([2**60 + 1]))
    assert not found.agrees
    assert found.absolute_error == 1.0
    assert compare(0, np.array([2**60]), np.array([2**60])).agrees


@pytest.mark.parametrize(
    ("actual", "agrees"),
    [
        (complex(np.inf, 0.25 + 1e-12), True),
        (complex(np.inf, 0.5), False),
        (complex(-np.inf, 0.25), False),
        (complex(1e300, 0.25), False),
        (complex(np.inf, np.nan), False),
    ],
)
def test_the_finite_part_of_an_infinite_complex_number_is_compared(actual: complex, agrees: bool) -> None:
    assert compare(0, np.array([actual, 1.0]), np.array([INFINITE, 1.0])).agrees is agrees


def test_nan_agrees_with_nan_alone() -> None:
    assert compare(0, np.array([np.nan, 1.0]), np.array([np.nan, 1.0])).agrees
    found = compare(0, np.array([1.0]), np.array([np.nan]))
    assert not found.agrees
    assert found.absolute_error == np.inf
