"""Generates the reference page of audited sharding rules: one row per op of StableHLO and CHLO."""

from __future__ import annotations

from sdy.evidence.audit.audit_rule import RuleAudit
from sdy.evidence.audit.catalogue.all import NOT_AUDITED
from sdy.evidence.audit.summary import OpSummary, audit_catalogue
from sdy.grammar.write import write_rule
from sdy.report.reference.markdown import page, table

_TITLE = """\
# Sharding rules, audited

Each rule is checked by running its op on a catalogue of small programs, with each element of the operands changed in
turn: `sdy audit` does so. A rule is **sound** if running the op on
shards, combined as the kinds of its factors say, gives what the whole op gives. It is **complete** if no further dims
could be tied. [Adding a dialect](../extending.md#checking-a-rule) shows how to audit rules of your own."""


def rules_page() -> str:
    """Return the text of the page. It takes about ten seconds, because all programs are run."""
    summaries = audit_catalogue()
    plain = [each for each in summaries if not each.unsound and not each.incomplete]
    listed = ", ".join(f"`{each.op}`" for each in plain)
    programs = sum(each.programs for each in summaries)
    incomplete = [
        _row(each, each.incomplete, each.incomplete[0].missing[0])
        for each in summaries
        if each.incomplete and not each.unsound
    ]
    unsound = [_row(each, each.unsound, each.unsound[0].problems[0]) for each in summaries if each.unsound]
    return page(
        _TITLE,
        "## Sound and complete",
        f"The rules of {len(plain)} of {len(summaries)} ops, on {programs} programs in all: {listed}.",
        "## Sound on all programs, not complete",
        table(("op", "programs", "not complete", "example", "reason"), incomplete),
        "## Not sound on some programs",
        table(("op", "programs", "not sound", "example", "reason"), unsound),
        "## Not audited",
        table(("op", "reason"), ([f"`{op}`", reason] for op, reason in NOT_AUDITED.items())),
    )


def _row(summary: OpSummary, found: list[RuleAudit], finding: str) -> list[str]:
    """Return the cells of an op with findings, with the first of them as an example."""
    example = f"`{write_rule(found[0].rule)}`: {finding}"
    return [f"`{summary.op}`", str(summary.programs), str(len(found)), example, " ".join(summary.reasons)]
