"""Findings: avoidable costs of a program, with the fixes that rules propose and those that hold when tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sdy.advice.collectives import Collective
from sdy.advice.edits import Change
from sdy.advice.lint.price import Cost, Price
from sdy.diagnostics.diagnostic import Diagnostic, Note, Severity, Span, place_json
from sdy.documents.document import document
from sdy.report.similar_entries import groups_of_similar, without_names

NO_COST = Cost()
MOST_PARTS = 4  # changes of a fix that are all shown


def and_others(text: str, count: int) -> str:
    """Return a text with the number of others for which it stands: `%m (and 3 more likewise)`."""
    return f"{text} (and {count} more likewise)" if count else text


@dataclass(frozen=True)
class Fix:
    """Changes of annotations, in words and as values. `parts` has a text per change; `intro` comes before them all."""

    parts: tuple[str, ...]
    changes: tuple[Change, ...]
    intro: str = ""

    @property
    def text(self) -> str:
        """All changes in words."""
        return self.intro + "; ".join(self.parts)

    @property
    def summary(self) -> str:
        """The changes in words; of many that differ only in the indices of layers, the first is shown with a count."""
        groups = groups_of_similar(self.parts, without_names, most=MOST_PARTS)
        texts = (and_others(first, len(others)) for first, *others in groups)
        return self.intro + "; ".join(texts)


@dataclass(frozen=True)
class TriedFix:
    """A fix that was tried on a copy of the program, and what it saves; a negative part is spent instead."""

    fix: Fix
    before: Price
    after: Price

    @property
    def saved(self) -> Cost:
        """The cost that the fix saves."""
        return self.after.saved_from(self.before)

    @property
    def is_free(self) -> bool:
        """Return whether the fix raises neither bytes, time nor memory. Only such fixes are applied by `--fix`."""
        return self.after.is_at_most(self.before)

    @property
    def gains(self) -> Cost:
        """The parts of the price that the fix lowers, and by how much."""
        return Cost(*(max(0.0, part) for part in self.saved))

    @property
    def losses(self) -> Cost:
        """The parts of the price that the fix raises, and by how much."""
        return Cost(*(max(0.0, -part) for part in self.saved))

    def __str__(self) -> str:
        """Return the fix and its effect: `annotate %w as [{"x"}]: saves 3.02 µs, but costs 512 bytes of memory`."""
        text = f"{self.fix.summary}: saves {self.gains}"
        return text if self.is_free else f"{text}, but costs {self.losses}"


@dataclass(frozen=True)
class Candidate:
    """An avoidable cost that a rule found, before its fixes are tried.

    `fixes` are tried in this order until one saves at least half of the cost. If `needs_fix`, the cost is an estimate:
    the finding is reported only with a fix, which saves at least `least_saved`, and costs what that saves. If
    `is_idle`, the fix must leave the local program as it is. `collectives` and `subject` identify the cause: of several
    findings with a common collective or an equal subject, the one that costs most is reported. `affected` are other
    collectives that the fixes may avoid.
    """

    code: str
    message: str
    cost: Cost
    fixes: Sequence[Fix] = ()
    needs_fix: bool = False
    least_saved: Cost = NO_COST
    is_idle: bool = False
    span: Span | None = None
    collectives: tuple[Collective, ...] = ()
    subject: str = ""
    notes: tuple[str, ...] = ()
    affected: tuple[Collective, ...] = ()


@dataclass(frozen=True)
class Finding:
    """An avoidable cost of a program. `fix` is None if no change of annotations that was tried avoids it.

    `was_limited` means that not all fixes were tried, as the number of trials was reached.
    """

    code: str
    message: str
    cost: Cost
    fix: TriedFix | None = None
    span: Span | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    was_limited: bool = False
    collectives: tuple[Collective, ...] = ()  # that the fix may avoid or make cheaper

    def __repr__(self) -> str:
        return f"Finding({self.code}: {self.message}: {self.cost})"

    @property
    def is_fixable(self) -> bool:
        """Return whether `--fix` applies the fix."""
        return self.fix is not None and self.fix.is_free

    def diagnostic(self) -> Diagnostic:
        """Return the finding as a warning whose hint is the fix."""
        message = f"{self.message}: {self.cost}"
        return Diagnostic(self.code, message, self.span, self._hint(), tuple(map(Note, self.notes)), Severity.WARNING)

    def _hint(self) -> str:
        if self.fix is not None:
            return str(self.fix)
        if self.was_limited:
            return "not all fixes were tried: --trials or --time-limit raises the limit"
        return "no change of annotations was found that avoids it"

    def to_json(self) -> dict[str, object]:
        """Return the finding as plain data."""
        fix = self.fix and document(
            "Fix", self.fix, text=self.fix.fix.text, saves=self.fix.saved, is_applied_by_fix=self.fix.is_free
        )
        return document("Finding", self, **place_json(self.span) | {"source": self.source}, fix=fix)
