"""The diagnosis of a program, in one sentence: the finding that saves most, of the rules that find root causes."""

from __future__ import annotations

from sdy.advice.lint.finding import Finding
from sdy.advice.lint.linter import Linter
from sdy.advice.lint.settings import LintSettings
from sdy.advice.partition_summary import PartitionSummary
from sdy.cost.quantities import rounded_bytes
from sdy.dialects.ir.walk import pre_order

ROOT_CAUSES = ("SDY-S417",)
TRIALS = 2  # each partitions the program
MOST_OPS = 10_000  # of a program that is partitioned again in passing


def root_cause(facts: PartitionSummary) -> Finding | None:
    """Return the finding of these rules that saves most; None for a large program, or if there is none."""
    if len(pre_order(facts.compiled.local)) > MOST_OPS:
        return None
    settings = LintSettings(select=ROOT_CAUSES, on=facts.hardware.name, trials=TRIALS)
    return next(iter(Linter(facts, settings).report().findings), None)


def memory_diagnosis(facts: PartitionSummary, where: str = "") -> tuple[str, ...]:
    """Return the lines of the diagnosis of a program that does not fit; none for one that fits."""
    missing = facts.peak_bytes - facts.hardware.hbm_bytes
    if missing <= 0:
        return ()
    held = f"{rounded_bytes(facts.peak_bytes)}{where}, {rounded_bytes(missing)} more"
    cause = f"diagnosis: each device holds {held} than one of {facts.hardware.name} has"
    return cause, "  edit: `sdy search --minimize memory` finds the least"


def diagnosis(finding: Finding | None) -> tuple[str, ...]:
    """Return the lines of a diagnosis, if there is one: the cause with its source line, and the edit that was tried."""
    if finding is None:
        return ()
    where = f"{finding.source}: " if finding.source else ""
    return f"diagnosis: {where}{finding.message} [{finding.code}]", f"  edit: {finding.fix}"
