"""Tells programs that round differently from programs that compute something else.

Rounding errors may be amplified until nothing of a result is left: an optimizer that divides a gradient close to zero
by its size returns any value between -1 and 1. So both programs run again in 64-bit floats, whatever types they
declare. If they still differ, the difference is compared with how much the original program varies when it rounds at
random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import Compiled
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.symbols import main_function
from sdy.evidence.runs.comparison import OutputComparison
from sdy.evidence.runs.run_estimate import SECONDS_PER_OP, seconds_of_run
from sdy.interpreter.arrays.element_types import Array, DType, is_complex, is_float
from sdy.interpreter.arrays.rounding_errors import FloatArray, allowed_error, errors, first_difference
from sdy.interpreter.executor import CompiledBlocks
from sdy.interpreter.rounding_noise import RoundingNoise
from sdy.interpreter.single import interpret
from sdy.passes.rewriting.widen_floats import widen_floats

# A result that rounding alone decides, such as the sign of a sum of zero, varies in only half of the runs. There are
# fewer runs of a program that takes long, so that the result of a wrong program does not take minutes.
MOST_RUNS, LEAST_RUNS = 24, 8
SECONDS_OF_RUNS = 20.0  # as estimated, of one run after another
# A difference may be this many times as large as the largest variation that was seen,
FACTOR = 16.0
# or so many times if the variation is a large share of the result: rounding decides most of its digits.
FACTOR_OF_LARGE, LARGE_SHARE = 2.0, 0.01


class RoundingCheck:
    """Runs a program on one device, and its partitioned form on all, in 64-bit floats on the same inputs."""

    def __init__(self, program: Compiled[Any], inputs: Sequence[Array]) -> None:
        self._program = program
        self._declared_inputs = inputs
        self._compiled: CompiledBlocks = {}

    def judged(
        self, comparisons: Sequence[OutputComparison], expected: Sequence[Array], *, is_given: bool
    ) -> list[OutputComparison]:
        """Return comparisons in the declared types, with the differences accepted that come from rounding.

        An output that agrees may turn out to differ, too. `expected` are the results of the original program in the
        declared types; if the user gave them (`is_given`), the original program must compute them up to rounding.
        Raises: SdyError if a program cannot be run.
        """
        problems = self._problems(self._partitioned_results(), np.finfo(np.float64).eps)
        if is_given:
            unit = max((_unit(array.dtype) for array in (*expected, *self._inputs)), default=0.0)
            given = self._problems(expected, unit)
            problems = [first or second for first, second in zip(problems, given, strict=True)]
        return [_judged(*each) for each in zip(comparisons, problems, expected, strict=True)]

    @cached_property
    def _inputs(self) -> list[Array]:
        return [array.astype(_wide(array.dtype), copy=False) for array in self._declared_inputs]

    @cached_property
    def _original(self) -> ModuleOp:
        return _widened(self._program.written)

    @cached_property
    def _reference(self) -> list[Array]:
        return self._run(None)

    @cached_property
    def _runs(self) -> int:
        """The number of runs that round at random, if a difference needs them."""
        seconds = max(seconds_of_run(self._original), SECONDS_PER_OP)
        return max(LEAST_RUNS, min(MOST_RUNS, int(SECONDS_OF_RUNS / seconds)))

    def _run(self, noise: RoundingNoise | None) -> list[Array]:
        name = main_function(self._original).sym_name.data
        host = self._program.origin.host()
        return interpret(self._original, self._inputs, name, host, noise=noise, compiled=self._compiled)

    def _partitioned_results(self) -> list[Array]:
        wide = replace(self._program, local=_widened(self._program.local))
        return wide.global_results(wide.run_on_devices(self._inputs))

    def _problems(self, results: Sequence[Array], unit: float) -> list[str]:
        """Compare results with those of the original program; return the first difference of each, or an empty text.

        `unit` is the relative rounding error of the type in which the results were computed.
        """
        compared = [_Deviation(*pair) for pair in zip(results, self._reference, strict=True)]
        for seed in count():
            unexplained = [index for index, each in enumerate(compared) if each.problem]
            if not unexplained or seed == self._runs:
                break
            varied = self._run(RoundingNoise(seed, unit))
            for index in unexplained:
                compared[index].take(varied[index])
        return [each.problem for each in compared]


class _Deviation:
    """The deviation of a result from a reference, and how much the reference varies when it rounds at random."""

    def __init__(self, result: Array, reference: Array) -> None:
        self._result, self._reference = result, reference
        self._error, self._magnitude = errors(result.astype(reference.dtype), reference)
        self._allowed = allowed_error(result.dtype, self._magnitude)
        self._variation: FloatArray = np.zeros(reference.shape)

    @property
    def problem(self) -> str:
        """The first element that deviates more than rounding explains, or an empty text."""
        is_large = self._variation > LARGE_SHARE * self._magnitude
        factors = np.where(is_large, FACTOR_OF_LARGE, FACTOR)
        differs = self._error > self._allowed + factors * self._variation
        return first_difference(self._result, self._reference, differs) if differs.any() else ""

    def take(self, varied: Array) -> None:
        """Note the results of a run that rounds at random."""
        found, _ = errors(varied, self._reference)
        if not _unit(varied.dtype):  # rounding decides the number: it may be any
            found = np.where(found > 0, np.inf, 0.0)
        self._variation = np.maximum(self._variation, found)


@garbage_collection_paused()
def _widened(module: ModuleOp) -> ModuleOp:
    """Return a copy of a module that computes in 64-bit floats."""
    copy = copy_with_regions(module)
    widen_floats(copy)
    return copy


def _judged(declared: OutputComparison, problem: str, expected: Array) -> OutputComparison:
    if problem:
        return replace(declared, agrees=False, problem=declared.problem or f"in 64-bit floats {problem}")
    if declared.agrees:
        return declared
    largest = float(np.max(np.abs(expected).astype(np.float64), initial=0.0, where=np.isfinite(expected)))
    rounding = _unit(expected.dtype) * largest
    amplification = declared.absolute_error / rounding if rounding else float("inf")
    return replace(declared, agrees=True, problem="", amplification=amplification)


def _unit(dtype: DType) -> float:
    """Return the relative rounding error of a type; 0 if it is not a float."""
    part = _PARTS.get(dtype, dtype)
    return float(np.spacing(np.ones((), part))) if is_float(part) else 0.0


def _wide(dtype: DType) -> DType:
    if is_complex(dtype):
        return np.dtype(np.complex128)
    return np.dtype(np.float64) if is_float(dtype) else dtype


_PARTS: dict[DType, DType] = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}
