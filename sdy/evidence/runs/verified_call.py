"""Verifies a program on the arrays of one call: all sizes as they are, or reduced ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sdy.compile.compiled import Compiled
from sdy.compile.signature import Call
from sdy.dialects.ir.symbols import main_function
from sdy.evidence.runs.arrays import arrays_of_call, check_arrays, is_empty
from sdy.evidence.runs.reduced import choose_sizes, verify_reduced
from sdy.evidence.runs.verification import OutputComparisons, verify_sizes_as_they_are


@dataclass(frozen=True, slots=True)
class VerifiedCall:
    """The arguments of `Program.verify` that are arrays: those of a call, some by name, and the expected results.

    Arrays that are not given are random ones from `seed`.
    """

    call: Call
    inputs: Mapping[str, object] | None
    expected: object
    seed: int


def compare_call(program: Compiled[Any], verified: VerifiedCall, *, reduced: bool) -> OutputComparisons:
    """Run a program on one device and on all, and compare the results; see `Program.verify`."""
    given = verified.call.args, verified.call.kwargs, verified.inputs, verified.expected
    hint = "verify(reduced=True) runs smaller sizes"
    if choose_sizes(program, reduced=reduced, given=given, hint=hint).is_reduced:
        return OutputComparisons(verify_reduced(program, verified.seed))
    written, origin = program.written, program.origin
    outputs = None if is_empty(verified.expected) else origin.signature.flat_results(verified.expected)
    is_given = bool(verified.call.args or verified.call.kwargs or verified.inputs) or outputs is not None
    if not is_given:
        return OutputComparisons(verify_sizes_as_they_are(program, verified.seed))
    arrays = arrays_of_call(written, origin, verified.call, verified.inputs or {}, verified.seed)
    check_arrays(main_function(written), arrays, outputs)
    return OutputComparisons(verify_sizes_as_they_are(program, verified.seed, arrays, outputs))
