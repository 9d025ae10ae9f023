"""Decides whether two programs compute the same function, however each is written: one on a device, one on all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import first_names
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo import elementwise as ops
from sdy.evidence.runs.arrays import random_inputs
from sdy.evidence.runs.both_programs import Watch, unwatched
from sdy.evidence.runs.comparison import OutputComparison, VerifiedRound
from sdy.evidence.runs.draws import EXPONENTIALS, LAWS, LOGARITHMS, SMALL_NUMBERS, UNIFORM, Draws
from sdy.evidence.runs.exact import NO_EXACT_FORM, ExactOutcome, exact_outcome
from sdy.evidence.runs.run_estimate import check_memory, estimate_of_run, estimate_on_devices
from sdy.evidence.runs.verification import Verification, compare_runs, hidden_text
from sdy.interpreter.arrays.element_types import Array, dtype_of_type, is_complex, is_float
from sdy.interpreter.field.functions import ARITHMETIC
from sdy.interpreter.ops.on_field import FUNCTIONS

# Formulas that are equal in numbers may differ in another order: `max(x, 0)` has no other form if 0 is any number.
KINDS_OF_DRAWS = ((UNIFORM, SMALL_NUMBERS), (EXPONENTIALS,), (LOGARITHMS,))
DIFFERENT_COPIES = "SDY-X101"
# Functions, and ops that depend on the order of numbers, of which a field has none of its own.
WITHOUT_LAWS: set[type[Operation]] = {ops.CompareOp, ops.ClampOp, *FUNCTIONS} - ARITHMETIC


def verify_against(
    reference: ModuleOp,
    candidate: Compiled[Any],
    seed: int = 0,
    given: Sequence[Array] | None = None,
    watch: Watch = unwatched,
) -> Verification:
    """Run a reference on one device and the partitioned candidate on all, and decide whether they compute the same.

    Exact numbers decide if both programs agree, at the latest if exponentials and logarithms obey their laws. If they
    differ, results of floats must differ too, or the programs consist of arithmetic alone: else it is not decided.
    Of arrays that are `given`, integers are kept, and floats are compared in floats.
    Raises: SdyError SDY-V007 if arguments or results have other types, SDY-X150 if memory is
    insufficient; or as `verify_sizes_as_they_are`.
    """
    check_same_types(reference, candidate.written)
    program = replace(candidate, written=reference, folded=reference)
    needed = estimate_of_run(reference) + estimate_on_devices(candidate.local, candidate.boundary)
    check_memory(needed, reference, "compare the programs on smaller arguments")
    inputs = random_inputs(reference, seed) if given is None else given
    undecided, outcomes = "", list[ExactOutcome]()
    try:
        for kinds in KINDS_OF_DRAWS:
            draws = Draws(reference, seed, given, kinds=kinds, other=candidate.written)
            outcome = exact_outcome(program, draws, watch, is_rewritten=True)
            outcomes.append(outcome)
            undecided = hidden_text(outcome.rounds)
            if _agree(outcome.rounds) and not undecided:
                # Formulas that are equal by a law may overflow for other floats.
                floats = compare_runs(program, inputs, watch=watch) if kinds[0] in LAWS else ()
                if all(each.agrees for each in floats):
                    return Verification(outcome.rounds, not_reached=outcome.not_reached)
    except SdyError as error:
        if error.diagnostics[0].code != NO_EXACT_FORM:
            raise
        undecided = error.diagnostics[0].message
    first = outcomes[0] if outcomes else ExactOutcome(())
    floats = _compared_in_floats(program, inputs, first, watch)
    lacking = _functions_without_laws((reference, candidate.written))
    if not all(each.agrees for each in floats) or not (undecided or lacking):
        parting = next((each.parting for each in outcomes if each.parting is not None), None)
        return Verification(first.rounds, floats, parting=parting, undecided="" if first.rounds else undecided)
    if not _agree(first.rounds):
        undecided = f"exact numbers differ, and do not know all laws of {first_names(lacking)}"
    return Verification((), floats, undecided=undecided)


def _compared_in_floats(
    program: Compiled[Any], inputs: Sequence[Array], exact: ExactOutcome, watch: Watch
) -> tuple[OutputComparison, ...]:
    """Compare results of floats. Where devices hold different copies of one, the comparison of exact numbers counts."""
    try:
        return tuple(compare_runs(program, inputs, watch=watch))
    except SdyError as error:
        if error.diagnostics[0].code != DIFFERENT_COPIES or _agree(exact.rounds):
            raise
        return exact.rounds[-1].comparisons


def _agree(rounds: Iterable[VerifiedRound]) -> bool:
    return all(each.agrees for each in rounds)


def check_same_types(reference: ModuleOp, candidate: ModuleOp) -> None:
    """Raise SdyError SDY-V007 at the first argument or result whose type differs."""
    mine, theirs = (main_function(module).function_type for module in (reference, candidate))
    for what, expected, found in (("argument", mine.inputs, theirs.inputs), ("result", mine.outputs, theirs.outputs)):
        problem = _difference(what, list(expected), list(found))
        if problem:
            raise SdyError(Diagnostic("SDY-V007", problem, span_of(main_function(candidate))))


def _difference(what: str, expected: Sequence[Attribute], found: Sequence[Attribute]) -> str:
    if len(expected) != len(found):
        return f"the reference has {len(expected)} {what}s, the candidate {len(found)}"
    for index, (mine, theirs) in enumerate(zip(expected, found, strict=True)):
        if mine != theirs:
            return f"{what} {index} is {mine} in the reference, {theirs} in the candidate"
    return ""


def _functions_without_laws(modules: Iterable[ModuleOp]) -> list[str]:
    """Return the names of the ops on floats that exact numbers replace by functions with fewer laws."""
    found: set[str] = set()
    for op in (op for module in modules for op in pre_order(module)):
        dtypes = [dtype_of_type(operand.type) for operand in op.operands if type(op) in WITHOUT_LAWS]
        if any(is_float(dtype) or is_complex(dtype) for dtype in dtypes):
            found.add(op.name.partition(".")[2])
    return sorted(found)
