"""The outcome of a proof: the lemmas used, or the ops where it does not follow."""

from __future__ import annotations

from dataclasses import dataclass

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.html_repr import HtmlRepr


@dataclass(frozen=True, slots=True)
class Proof(HtmlRepr):
    """The extent of a proof, and its lemmas.

    `lemmas` has how often each lemma was used. `proved` of the `ops` of the local program have a relation to a global
    value. `failures` has a diagnostic per op, or result, where the proof does not follow; later ops that need the
    result of such an op are not listed. If it is empty, the programs compute the same values, apart from rounding.
    """

    lemmas: tuple[tuple[str, int], ...]
    ops: int
    proved: int
    failures: tuple[Diagnostic, ...]

    def __repr__(self) -> str:
        """Return one line with the verdict."""
        return f"Proof({'proved' if self.is_proved else 'not proved'}, {self.proved:,} of {self.ops:,} ops)"

    @property
    def is_proved(self) -> bool:
        """Return whether each result of the local program was proved to be that of the global one."""
        return not self.failures

    @property
    def share(self) -> float:
        """The share of ops that are proved."""
        return self.proved / self.ops if self.ops else 1.0

    def to_json(self) -> dict[str, object]:
        """Return the outcome as plain values."""
        return {
            "proved": self.is_proved,
            "ops": self.ops,
            "ops_proved": self.proved,
            "lemmas": dict(self.lemmas),
            "failures": [
                {"code": each.code, "message": each.message, "location": _location(each)} for each in self.failures
            ],
        }


def _location(diagnostic: Diagnostic) -> str | None:
    span = diagnostic.span
    return None if span is None else f"{span.file}:{span.line}:{span.column}"
