"""Imports on first use: the functions and classes that only some questions about a program need.

So commands that partition a program, or print its costs, start without NumPy, the interpreter and the search.

>>> from sdy.program import on_demand
>>> on_demand.diff.__module__
'sdy.advice.diff'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdy.advice.contract import breaches as breaches
    from sdy.advice.contract import raise_breaches as raise_breaches
    from sdy.advice.contract_file import bounds_contract as bounds_contract
    from sdy.advice.contract_file import given_contract as given_contract
    from sdy.advice.diff import diff as diff
    from sdy.advice.edits import edited as edited
    from sdy.advice.lint.annotated_text import text_with_changes as text_with_changes
    from sdy.advice.lint.linter import Linter as Linter
    from sdy.advice.lint.settings import LintSettings as LintSettings
    from sdy.advice.partition_facts import PartitionFacts as PartitionFacts
    from sdy.advice.why_not import WhyNot as WhyNot
    from sdy.cost.hardware_file import resolve_hardware as resolve_hardware
    from sdy.cost.memory_curve import memory_curve as memory_curve
    from sdy.cost.program_cost import cost_of as cost_of
    from sdy.cost.schedule import schedule_of as schedule_of
    from sdy.evidence.proof.prove import prove as prove
    from sdy.interpreter.single import interpret as interpret
    from sdy.passes.manager.traced_propagation import with_trace as with_trace
    from sdy.program.arrays import input_types as input_types
    from sdy.program.at_scale.verified_call import VerifiedCall as VerifiedCall
    from sdy.program.at_scale.verified_call import compare_call as compare_call
    from sdy.program.planning.apply_tactics import apply_tactics as apply_tactics
    from sdy.program.planning.search_plan import SearchedProgram as SearchedProgram
    from sdy.program.planning.search_plan import search_plan as search_plan
    from sdy.program.trial_partitions import TrialPartitions as TrialPartitions
    from sdy.report.explain import Explainer as Explainer
    from sdy.report.html.inline_page import shown_page as shown_page
    from sdy.report.html.page import html_page as html_page
    from sdy.report.html.summary import partitioned_program_html as partitioned_program_html
    from sdy.report.html.summary import sharded_program_html as sharded_program_html
    from sdy.report.html.summary import summary_html as summary_html
    from sdy.report.program_report import WIDTH as WIDTH
    from sdy.report.program_report import program_report as program_report
    from sdy.report.reported_program import ReportedProgram as ReportedProgram
    from sdy.report.schedule_trace import schedule_trace as schedule_trace
    from sdy.search.search_request import SECONDS as SECONDS
    from sdy.search.search_request import search_request as search_request

_HOME = {
    "apply_tactics": "sdy.program.planning.apply_tactics",
    "bounds_contract": "sdy.advice.contract_file",
    "breaches": "sdy.advice.contract",
    "compare_call": "sdy.program.at_scale.verified_call",
    "cost_of": "sdy.cost.program_cost",
    "diff": "sdy.advice.diff",
    "edited": "sdy.advice.edits",
    "Explainer": "sdy.report.explain",
    "given_contract": "sdy.advice.contract_file",
    "html_page": "sdy.report.html.page",
    "input_types": "sdy.program.arrays",
    "interpret": "sdy.interpreter.single",
    "Linter": "sdy.advice.lint.linter",
    "LintSettings": "sdy.advice.lint.settings",
    "PartitionFacts": "sdy.advice.partition_facts",
    "memory_curve": "sdy.cost.memory_curve",
    "partitioned_program_html": "sdy.report.html.summary",
    "program_report": "sdy.report.program_report",
    "prove": "sdy.evidence.proof.prove",
    "raise_breaches": "sdy.advice.contract",
    "ReportedProgram": "sdy.report.reported_program",
    "resolve_hardware": "sdy.cost.hardware_file",
    "schedule_of": "sdy.cost.schedule",
    "schedule_trace": "sdy.report.schedule_trace",
    "search_plan": "sdy.program.planning.search_plan",
    "search_request": "sdy.search.search_request",
    "SECONDS": "sdy.search.search_request",
    "SearchedProgram": "sdy.program.planning.search_plan",
    "sharded_program_html": "sdy.report.html.summary",
    "shown_page": "sdy.report.html.inline_page",
    "summary_html": "sdy.report.html.summary",
    "text_with_changes": "sdy.advice.lint.annotated_text",
    "TrialPartitions": "sdy.program.trial_partitions",
    "VerifiedCall": "sdy.program.at_scale.verified_call",
    "with_trace": "sdy.passes.manager.traced_propagation",
    "WIDTH": "sdy.report.program_report",
    "WhyNot": "sdy.advice.why_not",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found
