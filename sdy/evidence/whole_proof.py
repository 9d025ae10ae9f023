"""Proves that a partitioned program computes the same: by lemmas for any size, and where these end, by exact runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Severity
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.evidence.borders import Borders
from sdy.evidence.proof.outcome import Proof
from sdy.evidence.proof.prove import Lemmas, prove_by_lemmas
from sdy.evidence.runs.both_programs import Watch, unwatched
from sdy.evidence.runs.reduced import check_budget, verified, verify_reduced
from sdy.evidence.runs.verification import Verdict, Verification, chance_text
from sdy.evidence.sizes.reduce_sizes import reduce_sizes


def prove(program: Compiled[Any], watch: Watch = unwatched) -> Proof:
    """Return whether the local program computes the same as the global one.

    Raises: SdyError SDY-V004 or SDY-T115 if the local program cannot be that of a device.
    """
    proved = prove_by_lemmas(program.written, program.local, program.boundary)
    return proved.proof if proved.proof.is_proved else prove_with_runs(program, proved, watch)


def prove_with_runs(program: Compiled[Any], proved: Lemmas, watch: Watch) -> Proof:
    """Return whether a local program that lemmas do not prove computes the same as the global one.

    Ops for which no lemma holds are checked in reduced sizes: both programs run in finite fields. Where what follows
    from such ops is again a shard of a value of the program, the proof goes on from it, and the runs compare it too.
    """
    try:
        proved, found = _with_runs(program, proved, watch)
    except SdyError as error:
        return replace(proved.proof, failures=(*proved.proof.failures, *error.diagnostics))
    proof = proved.proof
    if found.verdict is Verdict.SAME:
        checked, borders = proof.ops - proof.proved, len(proved.crossed)
        gaps = tuple(replace(each, severity=Severity.REMARK) for each in proof.failures)
        sizes = "in reduced sizes" if found.sizes is not None and found.sizes.changes else "in the sizes of the program"
        check = f"run in exact numbers {sizes}; the chance of an error is below {chance_text(found.chance)}"
        return replace(proof, failures=(), checked=checked, borders=borders, check=check, gaps=gaps)
    failures = (*proof.failures, *_differences(program, found))
    return replace(proof, failures=failures, differs=found.verdict is Verdict.DIFFERS)


def _with_runs(program: Compiled[Any], proved: Lemmas, watch: Watch) -> tuple[Lemmas, Verification]:
    """Return what lemmas prove given borders, and the runs that compare these and the results."""
    small = reduce_sizes(program.written, program.local, program.boundary)
    check_budget(small, program.written)
    borders = Borders(program, small)
    count, found = len(program.boundary.results), borders.found(proved.unrelated)
    while found:
        proved_more = prove_by_lemmas(program.written, program.local, program.boundary, found)
        runs = verified(borders.checked(proved_more.crossed), program, watch=watch, finds_parting=False)
        if runs.verdict is Verdict.SAME:
            return proved_more, runs
        wrong = {each.index - count for each in runs.comparisons if not each.agrees}
        if min(wrong, default=-1) < 0:
            break  # it is not the borders that are wrong
        found = [each for number, each in enumerate(proved_more.crossed) if number not in wrong]
    return proved, verify_reduced(program, watch=watch)


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
