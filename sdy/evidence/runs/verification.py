"""Compares what a program computes on one device with what its partitioned form computes on all devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from xdsl.dialects.func import FuncOp

from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.symbols import main_function
from sdy.evidence.runs.comparison import OutputComparison, compare
from sdy.evidence.runs.rounding import RoundingCheck
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.executor import OpObserver

Watch = Callable[[str, FuncOp], AbstractContextManager[OpObserver | None]]
"""Called with the name of a run and its function; the observer is called after each op until the context ends."""


def unwatched(name: str, function: FuncOp) -> AbstractContextManager[OpObserver | None]:
    """Return a context without an observer."""
    return nullcontext()


def compare_runs(
    program: Compiled[Any],
    inputs: Sequence[Array],
    given: Sequence[Array] | None = None,
    *,
    exact: bool | None = None,
    watch: Watch = unwatched,
) -> list[OutputComparison]:
    """Run a program on one device and on all, and compare the results, or those of all devices with `given`.

    With `exact`, both run in 64-bit floats too, to tell results that only round differently, which agree, from others;
    by default (None) if a result differs by more than the tolerance for its type, and if the ops allow it.
    `watch` observes the runs in the declared types.
    Raises: SdyError if a program cannot be run.
    """
    with watch("partitioned program", main_function(program.local)) as observer:
        actual = program.run_flat(inputs, observer)
    expected = given
    if expected is None:
        with watch("original program", main_function(program.written)) as observer:
            expected = program.run_on_one_device(inputs, observer)
    check = RoundingCheck(program, inputs)
    return compare_results(check, actual, expected, is_given=given is not None, exact=exact)


def compare_results(
    check: RoundingCheck,
    actual: Sequence[Array],
    expected: Sequence[Array],
    *,
    is_given: bool = False,
    exact: bool | None = None,
) -> list[OutputComparison]:
    """Compare results of the partitioned program with expected ones; see `compare_runs`."""
    found = [compare(index, *pair) for index, pair in enumerate(zip(actual, expected, strict=True))]
    if exact is False or (exact is None and all(each.agrees for each in found)):
        return found
    try:
        return check.judged(found, expected, is_given=is_given)
    except SdyError:
        if exact:
            raise
        return found
