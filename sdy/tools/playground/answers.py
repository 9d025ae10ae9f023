"""Answers the questions of the playground about a program, as JSON documents.

>>> print(answer('{"ask": "analysis", "text": "func.func @main(", "machine": "tpu_v5e"}')[:48])
{"diagnostics": [{"code": "SDY-P001", "severity"
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from json import dumps, loads
from typing import Literal, TypedDict, assert_never, cast

from sdy.advice.report_json import report_json
from sdy.cost.machines.file import resolve_hardware
from sdy.cost.statistics import statistics_of
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, render
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.program.program import Program
from sdy.report.explanation.explainer import ValueExplanation
from sdy.report.html.program_rows import ProgramRows
from sdy.tools.command_line.loading import with_lines
from sdy.tools.playground.edits import annotation_json, with_argument_lines, with_dim_axes, with_mesh_axes

Json = dict[str, object]

FILE = "program.mlir"  # the name of the program in locations
KEPT_PROGRAMS = 8


class AnalysisQuestion(TypedDict):
    """The question for the documents of `sdy report`, `sdy cost` and `sdy partition`."""

    ask: Literal["analysis"]
    text: str
    machine: str


class ValueQuestion(TypedDict):
    """The question for the document of `sdy explain` on a value, and for the annotation of the value."""

    ask: Literal["value"]
    text: str
    value: str


class WhyNotQuestion(TypedDict):
    """The question why a dim of a value is not sharded along an axis."""

    ask: Literal["why-not"]
    text: str
    value: str
    dim: int
    axis: str


class MeshQuestion(TypedDict):
    """The question for the text with other axes of a mesh; `axes` has the name and size of each, major first."""

    ask: Literal["mesh"]
    text: str
    mesh: str
    axes: dict[str, int]


class FormatQuestion(TypedDict):
    """The question for the text with one line for each argument of functions with long headers."""

    ask: Literal["format"]
    text: str


class AnnotationQuestion(TypedDict):
    """The question for the text with another annotation of a dim of a value."""

    ask: Literal["annotation"]
    text: str
    value: str
    dim: int
    axes: list[str]
    closed: bool


Question = AnalysisQuestion | ValueQuestion | WhyNotQuestion | MeshQuestion | AnnotationQuestion | FormatQuestion


def answer(question: str) -> str:
    """Return the answer to a question, both as JSON. The answer to an error of the user is `{"diagnostics": [...]}`."""
    asked = cast(Question, loads(question))
    try:
        found = _answer(asked)
    except SdyError as error:
        found = {"diagnostics": [_diagnostic_json(each, asked["text"]) for each in error.diagnostics]}
    return dumps(found, allow_nan=False)


def _answer(asked: Question) -> Json:
    """Return the answer to a question. Raises: SdyError with the errors of the program, or of what is asked."""
    if asked["ask"] == "mesh":
        return {"text": with_mesh_axes(asked["text"], asked["mesh"], asked["axes"], FILE)}
    if asked["ask"] == "format":
        return {"text": with_argument_lines(asked["text"], FILE)}
    program = _program(asked["text"])
    match asked["ask"]:
        case "analysis":
            return _analysis(program, asked["machine"])
        case "value":
            return _value(program, asked["value"])
        case "why-not":
            reasons = program.why_not(asked["value"], dim=asked["dim"], axis=asked["axis"])
            return {"explanation": _explanation(why_not=reasons.splitlines())}
        case "annotation":
            axes = asked["axes"]
            return {"text": with_dim_axes(program, asked["value"], asked["dim"], axes, is_closed=asked["closed"])}
        case _:
            assert_never(asked["ask"])


@garbage_collection_paused()
def _analysis(program: Program, machine: str) -> Json:
    """Return what the commands print about the program with `--json`, and the rows of the ops of the HTML page."""
    hardware = resolve_hardware(machine)
    facts, partitioned = program.partition_summary(hardware), program.partition()
    statistics = statistics_of(partitioned.local)
    rows = ProgramRows(program.module, partitioned.global_module, facts.explainer, program.origin.argument_names)
    return {
        "report": {**report_json(facts), "partitioners": []},
        "cost": partitioned.cost(hardware).to_json(),
        "partition": {"program": str(partitioned), "output": None, "statistics": statistics.to_json()},
        "rows": rows.to_json(),
    }


def _value(program: Program, name: str) -> Json:
    explainer = program.partition_summary().explainer
    values = [each for query in program.origin.names_in_text(name) for each in explainer.explanations(query)]
    return {"explanation": _explanation(values), "annotation": annotation_json(program, name)}


def _explanation(values: Sequence[ValueExplanation] | None = None, why_not: Sequence[str] | None = None) -> Json:
    """Return the document of `sdy explain`."""
    explained = None if values is None else [each.to_json() for each in values]
    return {"values": explained, "why_not": why_not, "conflicts": None, "collectives": None}


@lru_cache(maxsize=KEPT_PROGRAMS)
def _program(text: str) -> Program:
    """Return the program of a text. Raises: SdyError with the first error in the text."""
    return Program.from_text(text, FILE)


def _diagnostic_json(diagnostic: Diagnostic, text: str) -> Json:
    """Return a diagnostic as plain data, with the length of its location and the text that a terminal shows."""
    span = diagnostic.span
    shown = with_lines(diagnostic, FILE, text.splitlines())
    return {**diagnostic.to_json(), "length": 0 if span is None else span.length, "text": render(shown)}
