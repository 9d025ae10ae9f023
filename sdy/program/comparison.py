"""Compares the outputs of two runs of a program, the copies of one output, and the results of partitioners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from sdy.cost.statistics import Statistics
from sdy.diagnostics.counted import counted
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.interpreter.arrays.element_types import Array, DType, compute_dtype, is_complex, is_float
from sdy.interpreter.devices.grid import axes_of_ref, grid_of_mesh
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.model.devices.placement import TensorPlacement
from sdy.program.partitioners.table import results_table
from sdy.report.html.fragment import tables_html
from sdy.report.tables.program_tables import errors_table

FloatArray = NDArray[np.float64]

# Two runs may add the same numbers in different orders; these tolerances allow for the rounding errors.
RELATIVE_TOLERANCE = {8: 1e-8, 4: 1e-4, 2: 2e-2, 1: 2e-1}  # by bytes of a real element
ABSOLUTE_SHARE = 0.1  # the absolute tolerance is this, times the relative tolerance, times the largest element

_UNEQUAL_COPIES_HINT = (
    "a manual computation returned values that do not match its out_shardings; if there is none, report a bug in sdy"
)


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
        return f"OutputComparisons({_verdict(self)})"

    def _repr_html_(self) -> str:
        """Return the table of errors that notebooks show."""
        rows = (
            (str(each.index), f"{each.absolute_error:.1g}", f"{each.relative_error:.1g}", each.outcome) for each in self
        )
        return tables_html(repr(self), [errors_table(rows)])


@dataclass(frozen=True, slots=True)
class PartitionerResult:
    """The program that a partitioner made: its statistics and its results.

    `statistics` are those of one device, and None if the partitioner failed. `comparisons` are those of the outputs
    with a run on one device. If the partitioner failed, or the outputs are not compared, `problem` says why.
    """

    partitioner: str
    statistics: Statistics | None = None
    comparisons: Sequence[OutputComparison] = ()
    problem: str = ""

    def __repr__(self) -> str:
        """Return one line: the bytes sent and the verdict, or the problem."""
        sent = "" if self.statistics is None else f"{self.statistics.bytes_sent:,.0f} bytes sent, "
        verdict = self.problem or _verdict(self.comparisons)
        return f"PartitionerResult({self.partitioner}: {sent}{verdict})"

    def to_json(self) -> dict[str, object]:
        """Return the result as plain data."""
        return {
            "partitioner": self.partitioner,
            "problem": self.problem or None,
            "statistics": None if self.statistics is None else self.statistics.to_json(),
            "outputs": [each.to_json() for each in self.comparisons],
        }


class PartitionerResults(list[PartitionerResult]):
    """The results of several partitioners for one program."""

    def __repr__(self) -> str:
        return f"PartitionerResults({', '.join(each.partitioner for each in self)})"

    def _repr_html_(self) -> str:
        """Return the table that notebooks show: a column for each partitioner."""
        table = results_table("on one device", {each.partitioner: each for each in self})
        return tables_html(
            repr(self), [table], (f"{each.partitioner}: {each.problem}" for each in self if each.problem)
        )


def _verdict(comparisons: Sequence[OutputComparison]) -> str:
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
    relative, absolute = _tolerances(actual.dtype, magnitude)
    allowed = allowed_error(actual.dtype, magnitude)
    counting = magnitude > (absolute / relative if relative else 0.0)
    # Where an expected infinity is missing, no finite ratio describes the error.
    ratios = np.divide(error, magnitude, out=np.full(error.shape, np.inf), where=np.isfinite(magnitude) & counting)
    relative_error = _largest(np.where(error == 0, 0.0, ratios)[counting])
    problem = "" if bool(np.all(error <= allowed)) else first_difference(actual, expected, error > allowed)
    undefined = int(np.count_nonzero(~np.isfinite(expected.astype(compute_dtype(expected.dtype), copy=False))))
    return OutputComparison(index, _largest(error), relative_error, not problem, problem, undefined=undefined)


def check_equal_copies(value: DeviceArray, placement: TensorPlacement, index: int) -> None:
    """Check that devices hold equal copies of result `index` along the axes that its sharding does not use.

    Raises: SdyError SDY-X101 if two copies differ.
    """
    sharding = placement.sharding
    grid = grid_of_mesh(placement.mesh, sharding.axis_refs())
    array = regridded(value, grid).array
    used = {
        axis
        for ref in (*(ref for dim in sharding.dims for ref in dim.axes), *sharding.unreduced)
        for axis in axes_of_ref(grid, ref, placement.mesh)
    }
    for axis in range(grid.rank):
        if axis in used or array.shape[axis] == 1:
            continue
        first = np.take(array, [0], axis=axis)
        comparison = compare(index, array, np.broadcast_to(first, array.shape))
        if not comparison.agrees:
            message = f"devices hold different copies of result {index}: {comparison.problem}"
            raise SdyError(Diagnostic("SDY-X101", message, hint=_UNEQUAL_COPIES_HINT))


def errors(actual: Array, expected: Array) -> tuple[FloatArray, FloatArray]:
    """Return the error of each element and the magnitude of its expected value.

    Both are 0 where the two elements are the same infinity or NaN.
    """
    if is_complex(actual.dtype):
        parts = [errors(part(actual), part(expected)) for part in (np.real, np.imag)]
        error, magnitude = (np.hypot(*pair) for pair in zip(*parts, strict=True))
        return error, magnitude
    actual_floats, expected_floats = actual.astype(np.float64), expected.astype(np.float64)
    same = (actual == expected) | (np.isnan(actual_floats) & np.isnan(expected_floats))
    with np.errstate(invalid="ignore"):
        error = np.abs(actual_floats - expected_floats)
    if not is_float(actual.dtype):
        error = np.maximum(error, 1.0)  # different large integers may be equal as floats
    error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
    return error, np.where(same & ~np.isfinite(expected_floats), 0.0, np.abs(expected_floats))


def allowed_error(dtype: DType, magnitude: Array) -> FloatArray:
    """Return how much each element may differ from an expected value of this magnitude because of rounding."""
    relative, absolute = _tolerances(dtype, magnitude)
    return absolute + relative * np.where(np.isfinite(magnitude), magnitude, 0.0)


def _tolerances(dtype: DType, magnitude: Array) -> tuple[float, float]:
    """Return the relative and the absolute tolerance."""
    if not (is_float(dtype) or is_complex(dtype)):
        return 0.0, 0.0
    relative = RELATIVE_TOLERANCE[dtype.itemsize // (2 if is_complex(dtype) else 1)]
    finite = magnitude[np.isfinite(magnitude)]
    return relative, relative * ABSOLUTE_SHARE * _largest(finite)


def _largest(values: Array) -> float:
    return float(np.max(values)) if values.size else 0.0


def first_difference(actual: Array, expected: Array, differs: Array) -> str:
    """Describe the first element, in row-major order, at which `differs` is true."""
    position = tuple(int(index) for index in np.argwhere(differs)[0])
    where = f"at {list(position)}: " if position else ""
    return f"{where}{actual[position]} instead of {expected[position]}"
