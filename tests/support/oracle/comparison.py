"""Compare the output of our passes on a program with that of Shardy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.dialects.verification.verify_module import verify_module
from sdy.passes.manager.pass_options import build_pass, parse_pipeline
from sdy.passes.run import run_passes
from support.oracle.known_differences import IS_NEWER, known_difference, without_replicated_results
from support.oracle.process import OracleAbortError, OracleProcess

Normalise = Callable[[str], str]

ON_ONE_DEVICE = frozenset({"SDY-L016", "SDY-L017"})
UNMERGED_SUB_AXES = "two consecutive sub-axes can be merged"
MESH_OF_ONE_DEVICE = re.compile(r"<\[\], device_ids=\[\d+\]>")


class Verdict(Enum):
    """The outcome of a comparison."""

    SAME = "same"
    BOTH_REJECT = "both reject the program or the output of a pass"
    ABORT = "the oracle aborts"
    UNMERGED_SUB_AXES = "the oracle rejects sub-axes that it did not merge"
    NEWER = "we support ops on one device, the oracle does not yet"
    KNOWN = "a known difference between versions of Shardy"
    ONLY_OURS_REJECTS = "only ours rejects"
    ONLY_THEIRS_REJECTS = "only the oracle rejects"
    DIFFERENT = "different"

    @property
    def is_difference(self) -> bool:
        """Return whether our output differs in a way that must be explained."""
        return self in (Verdict.ONLY_OURS_REJECTS, Verdict.ONLY_THEIRS_REJECTS, Verdict.DIFFERENT)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A verdict and the details to report."""

    verdict: Verdict
    details: str = ""


def ours(text: str, pipeline: str, *, verify_each: bool = False) -> str:
    """Run our passes on a module and return the printed result. Raises: SdyError if a pass or the verifier fails."""
    module = parse_module(text, "program.mlir")
    verify_module(module)
    passes = [build_pass(request) for request in parse_pipeline(pipeline)]
    run_passes(make_context(), module, passes, verify_each=verify_each)
    verify_module(module)
    return print_module(module)


def compare(
    oracle: OracleProcess, text: str, pipeline: str, *, reprint: bool = False, normalise: Normalise = str.strip
) -> Comparison:
    """Run `pipeline`, a text like `builtin.module(...)`, on both sides.

    `reprint`: print the generic text of the oracle with our printer before comparing, because the pretty form of MLIR
    omits some attributes. `normalise` removes from our text what the oracle does not support yet.
    """
    try:
        theirs = oracle.run(text, pipeline, generic=reprint)
    except OracleAbortError as abort:
        return Comparison(Verdict.ABORT, str(abort))
    expected = theirs.get("text")
    try:
        # Verification after each pass would take most of the time; the oracle does it, and may find something.
        actual = normalise(ours(text, pipeline, verify_each=expected is None)).strip()
    except SdyError as error:
        if expected is not None and error.diagnostics[0].code in ON_ONE_DEVICE:
            return Comparison(Verdict.NEWER, str(error))
        return Comparison(Verdict.BOTH_REJECT if expected is None else Verdict.ONLY_OURS_REJECTS, str(error))
    if expected is None:
        return _rejected_by_oracle(text, theirs.get("error", ""))
    if reprint:
        expected = print_module(parse_module(expected, "oracle.mlir"))
    if not IS_NEWER:
        actual, expected = map(without_replicated_results, (actual, expected))
    if actual == expected.strip():
        return Comparison(Verdict.SAME)
    if MESH_OF_ONE_DEVICE.search(text) and "pipeline" in pipeline:  # one that reshards
        return Comparison(Verdict.NEWER)
    known = known_difference(text, error="")
    if known is not None:
        return Comparison(Verdict.KNOWN, known.reason)
    return Comparison(Verdict.DIFFERENT, difference(actual, expected))


def _rejected_by_oracle(text: str, error: str) -> Comparison:
    """Return the comparison for a program that we accept and the oracle rejects."""
    if UNMERGED_SUB_AXES in error:
        return Comparison(Verdict.UNMERGED_SUB_AXES, error)
    known = known_difference(text, error)
    return Comparison(Verdict.ONLY_THEIRS_REJECTS, error) if known is None else Comparison(Verdict.KNOWN, known.reason)


def difference(actual: str, expected: str) -> str:
    """Return the lines that differ, as a diff."""
    lines = difflib.unified_diff(
        actual.strip().splitlines(), expected.strip().splitlines(), "ours", "theirs", lineterm="", n=0
    )
    return "\n".join(lines)
