"""Long lists of findings and of changes show one of several that differ only in names and lines."""

from __future__ import annotations

from dataclasses import replace
from operator import methodcaller

from sdy.advice.lint.finding import Candidate, Finding, Fix
from sdy.advice.lint.linter import MOST_FINDINGS, LintReport, different_first, one_of_similar
from sdy.advice.lint.price import Cost, Price

CONFLICT = Finding("SDY-S410", "the tensors of %3 have conflicting shardings", Cost(100.0, 2e-6), source="line 4")


def layers(count: int) -> list[Finding]:
    """Return a finding per layer, and another one after the first."""
    other = replace(CONFLICT, message="the tensors of %9 are replicated")
    found = [
        replace(
            CONFLICT,
            message=f"the tensors of %{layer} have conflicting shardings",
            notes=(f"it originates from line {layer}",),
            source=f"line {layer}",
            was_limited=layer > 3,
        )
        for layer in range(count)
    ]
    return [found[0], other, *found[1:]]


def test_of_similar_findings_the_first_is_shown_with_the_cost_of_the_others() -> None:
    first, other = one_of_similar(layers(20))
    assert first.notes == (
        "it originates from line 0",
        "likewise 19 more, at line 1, line 2, line 3 and 16 more: 1,900 bytes sent, 38 µs; "
        "fixes of 16 of them were not tried",
    )
    assert other == layers(20)[1]


def test_a_notebook_shows_one_row_for_similar_findings() -> None:
    report = LintReport(Price(2_000.0, 4e-5, 0, 0), layers(20))
    shown = str(methodcaller("_repr_html_")(report))
    assert shown.count("likewise 19 more, at line 1") == 1
    assert shown.count("SDY-S410") == 2


def test_short_lists_and_verbose_ones_stay_as_they_are() -> None:
    assert one_of_similar(layers(MOST_FINDINGS - 1)) == layers(MOST_FINDINGS - 1)
    assert one_of_similar(layers(20), verbose=True) == layers(20)


def test_a_finding_with_a_fix_is_not_like_one_without() -> None:
    findings = [*layers(MOST_FINDINGS), replace(layers(1)[0], notes=())]
    assert len(one_of_similar(findings)) == 3


def test_a_fix_of_many_changes_is_summarized() -> None:
    parts = ("annotate out['emb'] as [{}]", *(f"annotate out[{layer}]['w'] as [{{\"x\"}}]" for layer in range(32)))
    fix = Fix(parts, (), intro="give it: ")
    assert fix.text.count("annotate") == 33
    assert fix.summary == (
        "give it: annotate out['emb'] as [{}]; annotate out[0]['w'] as [{\"x\"}] (and 31 more likewise)"
    )
    few = Fix(parts[:3], ())
    assert few.summary == few.text


def test_candidates_that_differ_are_tried_before_similar_ones() -> None:
    messages = ["%1 is gathered", "%2 is gathered", "%3 is gathered", "%4 is replicated", "%5 is replicated"]
    candidates = [Candidate("SDY-S403", message, Cost()) for message in messages]
    tried = [each.message[:2] for each in different_first(candidates)]
    assert tried == ["%1", "%4", "%2", "%5", "%3"]
