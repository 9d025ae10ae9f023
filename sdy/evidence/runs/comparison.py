"""Compares the outputs of two runs of a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from sdy.diagnostics.wording import counted
from sdy.interpreter.arrays.element_types import Array, compute_dtype
from sdy.interpreter.arrays.rounding_errors import allowed_error, errors, first_difference, largest, tolerances
from sdy.report.html.fragment import tables_html
from sdy.report.tables.program_tables import errors_table


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """The comparison of one output with its expected value. Errors are the largest over all elements.

    `amplification` is set if the error is larger than the tolerance for the declared type, and yet the programs compute
    the same: it is the largest error as a multiple of the rounding error of the largest element. `undefined` counts
    elements that are expected to be NaN or infinite, which show little about the programs.
    """

    index: int
    absolute_error: float
    relative_error: float  # over elements large enough not to be dominated by the rounding errors of larger ones
    agrees: bool
    problem: str = ""
    amplification: float | None = None
    undefined: int = 0

    def __repr__(self) -> str:
        return f"OutputComparison({self.index}: {self.outcome})"

    @property
    def outcome(self) -> str:
        """The result of the comparison: agreement, the amount of other rounding, or the first difference."""
        if self.amplification is None:
            return self.problem or "agrees"
        return f"rounds differently; rounding errors are amplified {self.amplification:.1g} times"

    def to_json(self) -> dict[str, object]:
        """Return the comparison as plain data; an infinite error, which JSON cannot express, is None."""
        return {
            "index": self.index,
            "agrees": self.agrees,
            "absolute_error": self.absolute_error if isfinite(self.absolute_error) else None,
            "relative_error": self.relative_error if isfinite(self.relative_error) else None,
            "problem": self.problem or None,
            "amplification": self.amplification,
            "undefined": self.undefined,
        }


class OutputComparisons(list[OutputComparison]):
    """The comparisons of all outputs."""

    def __repr__(self) -> str:
        """Return one line: whether all outputs agree, or how many differ."""
        return f"OutputComparisons({verdict(self)})"

    def _repr_html_(self) -> str:
        """Return the table of errors that notebooks show."""
        rows = (
            (str(each.index), f"{each.absolute_error:.1g}", f"{each.relative_error:.1g}", each.outcome) for each in self
        )
        return tables_html(repr(self), [errors_table(rows)])


def verdict(comparisons: Sequence[OutputComparison]) -> str:
    """Return whether all outputs agree, or how many differ, in words."""
    wrong = sum(not each.agrees for each in comparisons)
    outputs = counted(len(comparisons), "output")
    return f"{wrong} of {outputs} differ" if wrong else f"{outputs} agree" + "s" * (len(comparisons) == 1)


def compare(index: int, actual: Array, expected: Array) -> OutputComparison:
    """Compare output `index` with its expected value.

    NaN equals NaN, for complex numbers in each part separately. Integers and booleans must be equal.
    """
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        problem = f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
        return OutputComparison(index, float("inf"), float("inf"), agrees=False, problem=problem)
    error, magnitude = errors(actual, expected)
    relative, absolute = tolerances(actual.dtype, magnitude)
    allowed = allowed_error(actual.dtype, magnitude)
    counting = magnitude > (absolute / relative if relative else 0.0)
    # Where an expected infinity is missing, no finite ratio describes the error.
    ratios = np.divide(error, magnitude, out=np.full(error.shape, np.inf), where=np.isfinite(magnitude) & counting)
    relative_error = largest(np.where(error == 0, 0.0, ratios)[counting])
    problem = "" if bool(np.all(error <= allowed)) else first_difference(actual, expected, error > allowed)
    undefined = int(np.count_nonzero(~np.isfinite(expected.astype(compute_dtype(expected.dtype), copy=False))))
    return OutputComparison(index, largest(error), relative_error, not problem, problem, undefined=undefined)
