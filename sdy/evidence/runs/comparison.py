"""Compares the outputs of two runs of a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from sdy.diagnostics.wording import counted
from sdy.documents.document import document
from sdy.interpreter.arrays.element_types import Array, compute_dtype
from sdy.interpreter.arrays.field_types import equal_elements, is_field, parts_of
from sdy.interpreter.arrays.rounding_errors import allowed_error, errors, first_difference, largest, tolerances
from sdy.interpreter.field.functions import is_nan
from sdy.interpreter.field.numbers import Field


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """The comparison of one output with its expected value.

    `agrees` is whether both programs compute the same, in exact numbers where that could be decided. The errors are
    those of floats on arrays that were given, the largest over all elements: information about rounding. `undefined`
    counts elements that are expected to be NaN or infinite, which show little about the programs; `is_hidden` says that
    all elements are.
    """

    index: int
    agrees: bool
    problem: str = ""
    absolute_error: float = 0.0
    relative_error: float = 0.0  # over elements large enough not to be dominated by the rounding errors of larger ones
    undefined: int = 0
    is_hidden: bool = False

    def __repr__(self) -> str:
        return f"OutputComparison({self.index}: {self.outcome})"

    @property
    def outcome(self) -> str:
        """The result of the comparison: agreement, or the first difference."""
        return self.problem or "agrees"

    def to_json(self) -> dict[str, object]:
        """Return the comparison as plain data."""
        return document("Output", self)


@dataclass(frozen=True, slots=True)
class VerifiedRound:
    """The outcome of running both programs on one kind of inputs."""

    name: str
    comparisons: tuple[OutputComparison, ...]

    @property
    def agrees(self) -> bool:
        """Return whether all outputs agree."""
        return all(comparison.agrees for comparison in self.comparisons)

    def to_json(self) -> dict[str, object]:
        """Return the outcome as plain data."""
        return document("VerifiedRound", self, inputs=self.name, outputs=self.comparisons)


def verdict(comparisons: Sequence[OutputComparison]) -> str:
    """Return whether all outputs agree, or how many differ, in words; "not compared" without comparisons."""
    if not comparisons:
        return "not compared"
    wrong = sum(not each.agrees for each in comparisons)
    outputs = counted(len(comparisons), "output")
    return f"{wrong} of {outputs} differ" if wrong else f"{outputs} agree" + "s" * (len(comparisons) == 1)


def compare(index: int, actual: Array, expected: Array) -> OutputComparison:
    """Compare output `index` with its expected value, within the tolerance for rounding to its type.

    NaN equals NaN, for complex numbers in each part separately. Integers and booleans must be equal.
    """
    other_kind = _other_kind(index, actual, expected)
    if other_kind is not None:
        return other_kind
    error, magnitude = errors(actual, expected)
    relative, absolute = tolerances(actual.dtype, magnitude)
    allowed = allowed_error(actual.dtype, magnitude)
    counting = magnitude > (absolute / relative if relative else 0.0)
    # Where an expected infinity is missing, no finite ratio describes the error.
    ratios = np.divide(error, magnitude, out=np.full(error.shape, np.inf), where=np.isfinite(magnitude) & counting)
    relative_error = largest(np.where(error == 0, 0.0, ratios)[counting])
    problem = "" if bool(np.all(error <= allowed)) else first_difference(actual, expected, error > allowed)
    undefined = int(np.count_nonzero(~np.isfinite(expected.astype(compute_dtype(expected.dtype), copy=False))))
    return OutputComparison(index, not problem, problem, largest(error), relative_error, undefined)


def found_difference(index: int, actual: Array, expected: Array, differs: NDArray[np.bool_]) -> OutputComparison:
    """Return the comparison of two outputs that differ where `differs` says, or agree if they do nowhere."""
    problem = first_difference(actual, expected, differs) if differs.any() else ""
    return OutputComparison(index, not problem, problem)


def compare_exactly(index: int, actual: Array, expected: Array, field: Field) -> OutputComparison:
    """Compare output `index` of runs in a finite field with its expected value: all elements must be equal.

    In a ring where some numbers have no value, elements that are NaN in either run are skipped.
    """
    other_kind = _other_kind(index, actual, expected)
    if other_kind is not None:
        return other_kind
    if not is_field(actual.dtype):
        return found_difference(index, actual, expected, np.asarray(actual != expected))
    differs = ~equal_elements(actual, expected)
    is_undefined = np.logical_or.reduce([~np.isfinite(part) for part in parts_of(expected)])
    if field.is_partial:
        skipped = is_nan(actual) | is_nan(expected)
        differs, is_undefined = differs & ~skipped, is_undefined | skipped
    undefined = int(np.count_nonzero(is_undefined))
    if not differs.any():
        is_hidden = 0 < undefined == expected.size
        return OutputComparison(index, agrees=True, undefined=undefined, is_hidden=is_hidden)
    place = tuple(int(each) for each in np.argwhere(differs)[0])
    where = f"at {list(place)}: " if place else ""
    problem = f"{where}{_number_text(field, actual[place])} instead of {_number_text(field, expected[place])}"
    factor = _common_factor(field, actual, expected)
    if factor:
        problem += f"; each element is {factor} times the expected one"
    return OutputComparison(index, agrees=False, problem=problem, undefined=undefined)


def _other_kind(index: int, actual: Array, expected: Array) -> OutputComparison | None:
    if actual.shape == expected.shape and actual.dtype == expected.dtype:
        return None
    problem = f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    return OutputComparison(index, agrees=False, problem=problem, absolute_error=inf, relative_error=inf)


LARGEST_FACTOR = 4096  # that is told from a coincidence


def _common_factor(field: Field, actual: Array, expected: Array) -> str:
    """Return the small integer or its inverse by which each element is multiplied; "" if there is none."""
    if len(parts_of(actual)) > 1:
        return ""
    found, wanted = parts_of(actual)[0].reshape(-1), parts_of(expected)[0].reshape(-1)
    counting = np.isfinite(found) & np.isfinite(wanted) & (wanted != 0)
    if not counting.any() or (found[~counting & np.isfinite(wanted)] != 0).any():
        return ""
    ratios = np.unique(field.multiplied(found[counting], field.inverse(wanted[counting])))
    if len(ratios) != 1 or ratios[0] == 0:
        return ""
    for ratio, prefix in ((ratios[0], ""), (field.inverse(ratios)[0], "1/")):
        if abs(ratio) <= LARGEST_FACTOR:
            return f"{prefix}{int(ratio)}"
    return ""


def _number_text(field: Field, element: Array) -> str:
    """Return the number as it is usually ordered, or its residue if it has too many digits."""
    texts: list[str] = []
    for part in parts_of(np.asarray(element)):
        fixed = float(field.fixed_point(part))
        is_short = abs(fixed) < SHORT and (fixed * 256).is_integer()
        texts.append(f"{fixed:g}" if is_short or not isfinite(fixed) else f"the residue {int(part)}")
    return " + ".join(texts) + "i" * (len(texts) > 1)


SHORT = 1024.0  # larger numbers are rarely those of the program
