"""Findings that differ only in names and lines, as those in equal layers: one is tried and shown before the others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import zip_longest

from sdy.advice.lint.finding import Candidate, Finding
from sdy.advice.lint.price import Cost
from sdy.diagnostics.counted import first_names
from sdy.report.similar_entries import groups_of_similar, without_names

MOST_FINDINGS = 12  # a list of at most this number stays as it is


def one_of_similar(findings: Sequence[Finding], *, verbose: bool = False) -> list[Finding]:
    """Return the first finding of each group of similar ones, with a note about the others. All if `verbose`."""
    groups = groups_of_similar(findings, _key, verbose=verbose, most=MOST_FINDINGS)
    return [
        replace(first, notes=(*first.notes, _note(first, others))) if others else first for first, *others in groups
    ]


def _key(finding: Finding) -> Hashable:
    return finding.code, without_names(finding.message), tuple(map(without_names, finding.notes)), finding.fix is None


def _note(first: Finding, others: Sequence[Finding]) -> str:
    """Return the number of other findings, their locations and their total cost."""
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
