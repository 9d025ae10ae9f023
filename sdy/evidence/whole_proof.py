"""Proves that a partitioned program computes the same: by lemmas for any size, and where these end, by exact runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.evidence.proof.outcome import Proof
from sdy.evidence.proof.prove import prove_by_lemmas
from sdy.evidence.runs.reduced import verify_reduced
from sdy.evidence.runs.verification import Verdict, Verification, chance_text
from sdy.evidence.runs.watch import Watch, unwatched


def prove(program: Compiled[Any], watch: Watch = unwatched) -> Proof:
    """Return whether the local program computes the same as the global one.

    Ops for which no lemma holds are checked in reduced sizes: both programs run in finite fields, see `verify_reduced`.
    Raises: SdyError SDY-V004 or SDY-T115 if the local program cannot be that of a device.
    """
    proof = prove_by_lemmas(program.written, program.local, program.boundary)
    if proof.is_proved:
        return proof
    try:
        found = verify_reduced(program, watch=watch)
    except SdyError as error:
        return replace(proof, failures=(*proof.failures, *error.diagnostics))
    if found.verdict is Verdict.SAME:
        checked = proof.ops - proof.proved
        return replace(proof, failures=(), checked=checked, check=_check_text(found), gaps=proof.failures)
    failures = (*proof.failures, *_differences(program, found))
    return replace(proof, failures=failures, differs=found.verdict is Verdict.DIFFERS)


def _check_text(found: Verification) -> str:
    sizes = "in reduced sizes" if found.sizes is not None and found.sizes.changes else "in the sizes of the program"
    return f"run in exact numbers {sizes}; the chance of an error is below {chance_text(found.chance)}"


def _differences(program: Compiled[Any], found: Verification) -> list[Diagnostic]:
    """Return what the runs showed: where the programs part and which outputs differ, or why they did not decide."""
    span = span_of(main_function(program.local))
    if found.undecided:
        return [Diagnostic("SDY-V005", f"the runs in exact numbers did not decide: {found.undecided}", span)]
    wrong = [each for each in found.comparisons if not each.agrees]
    differences = [
        Diagnostic("SDY-V005", f"result {each.index} differs in a run: {each.problem}", span) for each in wrong
    ]
    return differences if found.parting is None else [found.parting, *differences]
