"""The audit of the rules of StableHLO and CHLO finds what is known, and nothing else."""

from __future__ import annotations

import json
from importlib import import_module
from unittest.mock import Mock

import pytest
from jsonschema import Draft202012Validator

from sdy.evidence.audit.catalogue.all import NOT_AUDITED, programs
from sdy.evidence.audit.summary import INCOMPLETE, UNSOUND, OpSummary, audit_catalogue
from sdy.rules.all import RULES
from sdy.rules.partitioner_rules import LOWERED_CHLO_RULES, PARTITIONER_RULES
from sdy.tools import audit
from sdy.tools.reference import diagnostics_page as rules_page
from sdy.tools.reference.json_page import json_schema

import_module("sdy.mpmd.dialect.dialect")  # adds its rules


def test_the_catalogue(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    summaries = audit.catalogue_summaries(1)  # takes ten seconds, hence one test
    check_every_rule_is_audited(summaries)
    check_findings_are_known(summaries)
    monkeypatch.setattr(audit, "catalogue_summaries", Mock(return_value=summaries))
    monkeypatch.setattr(rules_page, "audit_catalogue", lambda: summaries)
    check_page(rules_page.rules_page(), summaries)
    check_outputs(capsys)


def check_every_rule_is_audited(summaries: list[OpSummary]) -> None:
    with_rule = {op_class.name for table in (RULES, LOWERED_CHLO_RULES, PARTITIONER_RULES) for op_class in table}
    assert {each.op for each in summaries} | set(NOT_AUDITED) == with_rule
    assert not {each.op for each in summaries} & set(NOT_AUDITED)


def check_findings_are_known(summaries: list[OpSummary]) -> None:
    assert {each.op for each in summaries if each.unsound} == set(UNSOUND)
    assert {each.op for each in summaries if each.incomplete} == set(INCOMPLETE)
    assert sum(each.programs for each in summaries) > 800


def check_page(text: str, summaries: list[OpSummary]) -> None:
    """Check that the page has each op under the heading of what was found."""
    _, sound, incomplete, unsound, unaudited = text.split("\n## ")
    for each in summaries:
        section = unsound if each.unsound else incomplete if each.incomplete else sound
        assert section.count(f"`{each.op}`") == 1, each.op
    assert all(f"| `{op}` | {reason} |" in unaudited for op, reason in NOT_AUDITED.items())


def check_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.run(audit.parser().parse_args([])) == 0
    printed = capsys.readouterr().out
    assert "stablehlo.sort" not in printed
    assert f"reason: {UNSOUND['stablehlo.convolution']}" in printed
    assert audit.run(audit.parser().parse_args(["--json"])) == 0
    found = json.loads(capsys.readouterr().out)
    Draft202012Validator({**json_schema(), "$ref": "#/$defs/sdy-audit"}).validate(found)
    assert {each["op"] for each in found if each["not_sound"]} == set(UNSOUND)


def test_a_new_finding_is_an_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    transpose = "stablehlo.transpose %a, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>"
    rule = "{sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=4}>}"
    text = f"func.func @main(%a: tensor<4x4xf32>) {{\n  %0 = {transpose.replace(' :', f' {rule} :')}\n  return\n}}\n"
    monkeypatch.setattr(audit, "programs", lambda: [text])
    assert audit.run(audit.parser().parse_args(["-v", "--processes", "1"])) == 1
    assert "element [0, 1] of result 0 reads element [1, 0] of operand 0" in capsys.readouterr().out


def test_processes_audit_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An op whose programs are in several parts has one summary."""
    texts = [text for text in programs() if "stablehlo.dot" in text or "stablehlo.conv" in text]
    monkeypatch.setattr(audit, "programs", lambda: texts)
    found = audit.catalogue_summaries(2)
    assert found == audit_catalogue(texts)
    assert sum(each.programs for each in found) == len(texts) > 60
