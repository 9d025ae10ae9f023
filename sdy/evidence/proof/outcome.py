"""The outcome of a proof: the lemmas used, or the ops where it does not follow."""

from __future__ import annotations

from dataclasses import dataclass

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.documents.document import document
from sdy.model.html_repr import HtmlRepr


@dataclass(frozen=True, slots=True)
class Proof(HtmlRepr):
    """The extent of a proof, and its lemmas.

    `lemmas` has how often each lemma was used. `proved` of the `ops` of the local program have a relation to a global
    value, in all sizes. `failures` has a diagnostic per op, or result, where the proof does not follow; later ops that
    need the result of such an op are not listed. If it is empty, the programs compute the same values, apart from
    rounding: but for the `checked` ops, for any sizes. These were run in exact numbers, as `check` says; `gaps` has
    remarks on the first of them, where the lemmas end, and `borders` is the number of values at which they go on, which
    the runs compared. `differs` says that a run showed other results.
    """

    lemmas: tuple[tuple[str, int], ...]
    ops: int
    proved: int
    failures: tuple[Diagnostic, ...]
    checked: int = 0
    check: str = ""
    borders: int = 0
    gaps: tuple[Diagnostic, ...] = ()
    differs: bool = False

    def __repr__(self) -> str:
        """Return one line with the verdict."""
        checked = f", {self.checked:,} checked in reduced sizes" if self.checked else ""
        return f"Proof({'proved' if self.is_proved else 'not proved'}, {self.proved:,} of {self.ops:,} ops{checked})"

    @property
    def is_proved(self) -> bool:
        """Return whether each result of the local program was proved, or checked, to be that of the global one."""
        return not self.failures

    @property
    def share(self) -> float:
        """The share of ops that are proved or checked."""
        return (self.proved + self.checked) / self.ops if self.ops else 1.0

    def to_json(self) -> dict[str, object]:
        """Return the outcome as plain values."""
        return document(
            "ProofOutcome",
            self,
            proved=self.is_proved,
            ops_proved=self.proved,
            ops_checked=self.checked,
            lemmas=dict(self.lemmas),
            failures=map(_to_json, self.failures),
            gaps=map(_to_json, self.gaps),
        )


def _to_json(diagnostic: Diagnostic) -> dict[str, object]:
    span = diagnostic.span
    return document("Failure", diagnostic, location=span and f"{span.file}:{span.line}:{span.column}")
