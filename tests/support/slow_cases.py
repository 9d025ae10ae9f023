"""Marks for the cases of a test that only the slow suite runs."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

CaseT = TypeVar("CaseT")


def slow_except(kept: Container[CaseT], cases: Iterable[CaseT]) -> list[ParameterSet]:
    """Return values of one parameter for `pytest.mark.parametrize`, marked `slow` except those in `kept`."""
    return [pytest.param(case, marks=() if case in kept else pytest.mark.slow) for case in cases]
