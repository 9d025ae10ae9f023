"""Verifies a program on the arrays of one call: all sizes as they are, or reduced ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.symbols import main_function
from sdy.program.arrays import arrays_of_call, check_arrays, is_empty
from sdy.program.at_scale.reduced import choose_sizes, verify_reduced
from sdy.program.comparison import OutputComparisons
from sdy.program.partitioned import PartitionedProgram
from sdy.program.verification import compare_runs


@dataclass(frozen=True, slots=True)
class VerifiedCall:
    """The arguments of `Program.verify` that are arrays: those of a call, some by name, and the expected results.

    Arrays that are not given are random ones from `seed`.
    """

    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    inputs: Mapping[str, object] | None
    expected: object
    seed: int


def compare_call(
    written: ModuleOp, partitioned: PartitionedProgram[Any], call: VerifiedCall, *, exact: bool | None, reduced: bool
) -> OutputComparisons:
    """Run a program and its partitioned form, and compare their results; see `Program.verify`."""
    given = call.args, call.kwargs, call.inputs, call.expected
    hint = "verify(reduced=True) runs smaller sizes"
    if choose_sizes(written, partitioned, reduced=reduced, given=given, hint=hint).is_reduced:
        return OutputComparisons(verify_reduced(written, partitioned, call.seed).comparisons)
    origin = partitioned.origin
    arrays = arrays_of_call(written, origin, call.args, call.kwargs, call.inputs or {}, call.seed)
    outputs = None if is_empty(call.expected) else origin.signature.flat_results(call.expected)
    check_arrays(main_function(written), arrays, outputs)
    return OutputComparisons(compare_runs(written, partitioned, arrays, outputs, exact=exact))
