"""Runs the rules on a partitioned program, and tries the fix of each candidate on a copy before it is reported.

A fix holds if each of bytes, time and memory that the candidate costs falls by at least half; it may raise another
one, if that takes less time than it saves. Candidates are tried in turn from each rule, the costliest first, until the
number of trials is reached: each trial partitions the program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from math import inf
from time import monotonic
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from sdy.advice.collectives import Collective
from sdy.advice.edits import Change, edited, is_at_boundary
from sdy.advice.lint.finding import Candidate, Finding, Fix, TriedFix
from sdy.advice.lint.linted_program import LintedProgram
from sdy.advice.lint.price import Cost, Price, price_of
from sdy.advice.lint.rules import selected_rules
from sdy.advice.lint.settings import LintSettings
from sdy.advice.partition_summary import PartitionSummary
from sdy.compile.compiled import Compiled, TrialPartitions
from sdy.diagnostics.diagnostic import SdyError, render
from sdy.diagnostics.progress import TimeUpError, stage, stopping_at
from sdy.diagnostics.wording import counted, first_names
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import print_module
from sdy.dialects.verification.verify_module import verify_module
from sdy.report.html.markup import tables_html
from sdy.report.similar_entries import groups_of_similar, on_one_screen, without_names
from sdy.report.tables.fitted_table import fitted_table

OPS_IN_TRIALS = 6_000  # so that the trials take some ten seconds
MIN_TRIALS, MAX_TRIALS = 8, 64


def default_trials(module: ModuleOp) -> int:
    """Return the number of trials that take some ten seconds."""
    count = sum(1 for _ in pre_order(module))
    return max(MIN_TRIALS, min(MAX_TRIALS, OPS_IN_TRIALS // max(1, count)))


class UntriedError(Exception):
    """The error that the effect of a fix is not known: the trials are used up, or the time is."""


class Trials:
    """The trials of fixes of a program: equal fixes are tried once.

    At most `count` fixes are tried, by default as many as take some ten seconds, and none after `seconds`.
    """

    def __init__(
        self, program: Compiled[Any], price: Callable[[ModuleOp], Price], count: int | None, seconds: float | None
    ) -> None:
        self._end = inf if seconds is None else monotonic() + seconds
        self._written, self._price = program.written, price
        self._partitions = TrialPartitions(program.origin, program.options)
        self._left = default_trials(program.written) if count is None else count
        self._known: dict[tuple[Change, ...], tuple[ModuleOp, Price] | None] = {}

    def result(self, fix: Fix) -> tuple[ModuleOp, Price] | None:
        """Return the local program of an edited copy and its price, or None if the edit is not valid.

        Raises: UntriedError if all trials are used up, or if the time ends before the effect is known.
        """
        if fix.changes not in self._known:
            if self._left <= 0 or monotonic() > self._end:
                raise UntriedError
            try:
                with stopping_at(self._end), stage(f"fix {len(self._known) + 1}"):
                    self._known[fix.changes] = self._tried(fix)
            except TimeUpError as error:
                raise UntriedError from error
            self._left -= 1
        return self._known[fix.changes]

    def _tried(self, fix: Fix) -> tuple[ModuleOp, Price] | None:
        module, _ = edited(self._written, fix.changes)
        try:
            verify_module(module)
            local = self._partitions.local(module)
        except SdyError:
            return None  # for example because an axis would be used twice
        return local, self._price(local)


MOST_FINDINGS = 12  # a list of at most this number stays as it is

FIXES_PER_CANDIDATE = 3
HOLDS_FROM = 0.5  # the share of its cost that a fix must save
# A cost is small in time below SMALL_SECONDS. It is small in bytes or memory below a share of those of the program, or
# if the machine sends or writes them within SMALL_SECONDS: 1 % of a tiny program is nothing.
SMALL_SHARE, SMALL_SECONDS = 0.01, 1e-6


@dataclass(frozen=True)
class LintReport:
    """The findings of a program, the costliest first, and the number of candidates that could not be tried."""

    price: Price
    findings: Sequence[Finding] = field(default_factory=list[Finding])
    untried: int = 0

    def __repr__(self) -> str:
        """Return one line: the number of findings, and of those that `with_lint_fixes` fixes."""
        fixable = sum(finding.is_fixable for finding in self.findings)
        return f"LintReport({counted(len(self.findings), 'finding')}, {fixable} with a fix that costs nothing)"

    def __str__(self) -> str:
        """Return the findings as the command prints them: one of similar ones, and no more than on one screen."""
        texts = [render(each.diagnostic()) for each in one_of_similar(self.findings)]
        return "\n".join([*on_one_screen(texts), self.summary()])

    def summary(self, fixed: int = 0) -> str:
        """Return a line with the number of findings, and of those that were fixed."""
        fixable = sum(each.is_fixable for each in self.findings)
        text = counted(len(self.findings), "finding") if self.findings else "no findings"
        if fixable:
            text += f", {fixable} fixable with --fix"
        if fixed:
            text += f", {fixed} fixed"
        if self.untried:
            text += f"; {self.untried} possible findings were not tried: --trials or --time-limit raises the limit"
        return text

    def _repr_html_(self) -> str:
        """Return the table that notebooks show, with one of each group of similar findings if there are many."""
        notes = [] if self.findings else ["No avoidable cost was found."]
        if self.untried:
            notes.append(f"Not tried: {counted(self.untried, 'candidate')}.")
        shown = with_text_about_others(self.findings)
        columns = ("code", "finding", "costs", "fix", "source")
        rows = [(each.code, each.message, str(each.cost), str(each.fix or ""), each.source) for each, _ in shown]
        if len(shown) < len(self.findings):
            columns = (*columns, "similar findings")
            rows = [(*row, others) for row, (_, others) in zip(rows, shown, strict=True)]
        tables = [fitted_table("findings", columns, rows)] if self.findings else []
        return tables_html(repr(self), tables, notes)

    def fixable(self) -> list[Finding]:
        """Return the findings whose fixes raise nothing, the one whose fix saves most first."""
        return [finding for finding in self.findings if finding.is_fixable]


class Linter:
    """Finds the avoidable costs of one partitioned program."""

    def __init__(self, facts: PartitionSummary, settings: LintSettings) -> None:
        self._linted = LintedProgram(facts)
        self._facts = facts
        self._rules = selected_rules(settings.select, settings.ignore)
        self._shows_small = settings.shows_small
        self._keeps_boundary = settings.keeps_boundary
        self._trials = Trials(facts.compiled, self._price, settings.trials, settings.time_limit)
        self._untried = 0

    @cached_property
    def price(self) -> Price:
        """The price of the program without fixes."""
        return self._price(self._facts.compiled.local)

    def report(self) -> LintReport:
        """Return all findings, the costliest first, one for each cause."""
        found = [(candidate, finding) for candidate, finding in self._findings()]
        kept = sorted(self._one_per_cause(found), key=lambda each: -self._weight_of(*each))
        return LintReport(self.price, [finding for _, finding in kept], self._untried)

    def fixable_again(self, finding: Finding) -> Finding | None:
        """Return a finding of another program if this one has it too, with a fix that is still free; else None."""
        found = (each for rule in self._rules if rule.code == finding.code for each in rule.find(self._linted))
        candidate = next((each for each in found if each.message == finding.message), None)
        again = None if candidate is None else self._finding(candidate)
        return again if again is not None and again.is_fixable and not self._is_small(again) else None

    def _findings(self) -> Iterator[tuple[Candidate, Finding]]:
        for candidate in self._candidates():
            finding = self._finding(candidate)
            if finding is not None and (self._shows_small or candidate.is_idle or not self._is_small(finding)):
                yield candidate, finding

    def _candidates(self) -> list[Candidate]:
        """Return the candidates: the costliest one of each rule, then the next one of each.

        Of those that differ only in names and lines, as in equal layers, the second comes after all first ones: where
        no fix helps one of them, none is likely to help the others.
        """
        ranked: list[tuple[int, float, Candidate]] = []
        for rule in self._rules:
            found = sorted(rule.find(self._linted), key=lambda each: -self._weight(each.cost))
            ranked += [(rank, -self._weight(each.cost), each) for rank, each in enumerate(different_first(found))]
        return [each for _, _, each in sorted(ranked, key=lambda each: each[:2])]

    def _finding(self, candidate: Candidate) -> Finding | None:
        """Return the candidate with the first of its fixes that is free, or else with one that holds.

        Return None if the candidate needs a fix and none holds.
        """
        cost, fix, was_limited = candidate.cost, None, False
        for each in self._allowed(candidate.fixes)[:FIXES_PER_CANDIDATE]:
            try:
                tried = self._try(candidate, each)
            except UntriedError:
                was_limited = True
                break
            if tried is None:
                continue
            if tried.is_free:
                fix = tried
                break
            if fix is None or (candidate.needs_fix and self._weight(tried.saved) > self._weight(fix.saved)):
                fix = tried  # rules that need no fix yield the better one first
        if candidate.needs_fix:
            if fix is None:
                self._untried += was_limited
                return None
            cost = fix.gains
        return Finding(
            candidate.code,
            candidate.message,
            cost,
            fix,
            self._linted.with_source(candidate.span),
            self._linted.source(candidate.span),
            candidate.notes,
            was_limited=was_limited,
            collectives=candidate.collectives or candidate.affected,
        )

    def _allowed(self, fixes: Sequence[Fix]) -> Sequence[Fix]:
        return [each for each in fixes if not (self._keeps_boundary and any(map(is_at_boundary, each.changes)))]

    def _try(self, candidate: Candidate, fix: Fix) -> TriedFix | None:
        """Return the fix with its effect on a copy, or None if it does not hold.

        Raises: UntriedError as `Trials.result`.
        """
        found = self._trials.result(fix)
        if found is None:
            return None
        local, after = found
        tried = TriedFix(fix, self.price, after)
        if candidate.is_idle:
            return tried if print_module(local) == self._text else None
        least = candidate.least_saved if candidate.needs_fix else candidate.cost.times(HOLDS_FROM)
        return tried if tried.saved.covers(least) and self._weight(tried.saved) > 0 else None

    def _price(self, local: ModuleOp) -> Price:
        return price_of(local, self._linted.mesh, self._facts.hardware)

    @cached_property
    def _text(self) -> str:
        return print_module(self._facts.compiled.local)

    def _weight(self, cost: Cost) -> float:
        """Return the seconds that a cost takes, with those of writing its memory once."""
        return cost.seconds + cost.memory / self._facts.hardware.hbm_bandwidth

    def _weight_of(self, candidate: Candidate, finding: Finding) -> float:
        """Return the weight of what a finding costs; if that is what its fix saves, without what the fix costs."""
        return self._weight(finding.fix.saved if candidate.needs_fix and finding.fix else finding.cost)

    def _is_small(self, finding: Finding) -> bool:
        """Return whether a finding costs little, and its fix saves little."""
        total, machine = self.price.as_cost, self._facts.hardware
        bytes_sent = max(SMALL_SHARE * total.bytes_sent, SMALL_SECONDS * machine.network.send_bandwidth)
        memory = max(SMALL_SHARE * total.memory, SMALL_SECONDS * machine.hbm_bandwidth)
        costs = [finding.cost] if finding.fix is None else [finding.cost, finding.fix.saved]
        return all(
            cost.seconds < SMALL_SECONDS and cost.bytes_sent <= bytes_sent and cost.memory <= memory for cost in costs
        )

    def _one_per_cause(self, found: Sequence[tuple[Candidate, Finding]]) -> Iterator[tuple[Candidate, Finding]]:
        """Yield the findings without those that share a cause with a better one: fixable ones first, then by cost."""
        causes: set[object] = set()
        ranked = sorted(found, key=lambda each: (not each[1].is_fixable, -self._weight_of(*each)))
        for candidate, finding in ranked:
            changes = () if finding.fix is None else (change.target for change in finding.fix.fix.changes)
            own = {*candidate.collectives, *changes, *([candidate.subject] if candidate.subject else [])}
            if not own & causes:
                yield candidate, finding
            causes |= own


def edits_of_collectives(facts: PartitionSummary, trials: int, seconds: float) -> dict[Collective, str]:
    """Return the fix of the costliest finding about each collective, with what it saves.

    So many fixes are tried, in so many seconds.
    """
    settings = LintSettings(on=facts.hardware.name, trials=trials, time_limit=seconds)
    findings = Linter(facts, settings).report().findings
    return {each: str(finding.fix) for finding in reversed(findings) if finding.fix for each in finding.collectives}


def one_of_similar(findings: Sequence[Finding], *, verbose: bool = False) -> list[Finding]:
    """Return the first finding of each group of similar ones, with a note about the others. All if `verbose`."""
    found = with_text_about_others(findings, verbose=verbose)
    return [replace(first, notes=(*first.notes, others)) if others else first for first, others in found]


def with_text_about_others(findings: Sequence[Finding], *, verbose: bool = False) -> list[tuple[Finding, str]]:
    """Return the first finding of each group of similar ones, and a text about the others, which is empty without any.

    The text has their number, locations and total cost. If `verbose`, each finding is a group.
    """
    groups = groups_of_similar(findings, _key, verbose=verbose, most=MOST_FINDINGS)
    return [(first, _text_about(others, first) if others else "") for first, *others in groups]


def _key(finding: Finding) -> Hashable:
    return finding.code, without_names(finding.message), tuple(map(without_names, finding.notes)), finding.fix is None


def _text_about(others: Sequence[Finding], first: Finding) -> str:
    total = Cost()
    for each in others:
        total = total.plus(each.cost)
    sources = list(dict.fromkeys(each.source for each in others if each.source))
    text = f"likewise {len(others):,} more" + (f", at {first_names(sources)}" if sources else "") + f": {total}"
    untried = 0 if first.was_limited else sum(each.was_limited for each in others)
    return f"{text}; fixes of {untried:,} of them were not tried" if untried else text


def different_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the first of each group of similar candidates, then the second ones, and so on."""
    groups = groups_of_similar(candidates, lambda each: without_names(each.message), most=0)
    return [each for rank in zip_longest(*groups) for each in rank if each is not None]
