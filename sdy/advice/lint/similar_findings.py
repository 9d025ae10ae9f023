"""Findings that differ only in names and lines, as those in equal layers: one is tried and shown before the others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import zip_longest

from sdy.advice.lint.finding import Candidate, Finding
from sdy.advice.lint.price import Cost
from sdy.diagnostics.wording import first_names
from sdy.report.similar_entries import groups_of_similar, without_names

MOST_FINDINGS = 12  # a list of at most this number stays as it is


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
