"""Answers the questions of the playground about a program, as JSON documents, and edits its text by the controls.

>>> print(answer('{"ask": "analysis", "text": "func.func @main(", "machine": "tpu_v5e"}')[:48])
{"diagnostics": [{"code": "SDY-P001", "severity"
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import chain, combinations, permutations
from json import dumps, loads
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from sdy.advice.edits import Edit, without_axis
from sdy.advice.lint.annotated_text import FunctionText, ProgramText, text_with_changes
from sdy.advice.partition_summary import report_json
from sdy.cost.machines.file import resolve_hardware
from sdy.cost.statistics import statistics_of
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, render
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import parse_module
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
from sdy.grammar.parse import parse_axis_ref
from sdy.model.axis import AxisRef
from sdy.model.axis_list import sharded_size
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import fully_open, with_dim
from sdy.program.program import Program
from sdy.report.boundary import boundary_values
from sdy.report.explanation.explainer import ValueExplanation
from sdy.report.explanation.value_names import ValueNames
from sdy.report.html.page_rows import ProgramRows
from sdy.tools.command_line.loading import with_lines

MOST_ORDERED_AXES = 3  # with more axes in a mesh, lists of axes are offered in mesh order only
LONGEST_LINE, INDENT = 100, "  "
MOST_AXES_OF_DIM = 2  # in one list of axes of a mesh with more axes than that

_MESH_OF_JAX = re.compile(r"\s*\{(?=stablehlo\.mesh = )")
_PARTITIONS_OF_JAX = re.compile(r"(\bmhlo\.num_partitions = )\d+")


def with_mesh_axes(text: str, mesh: str, axes: Mapping[str, int], file: str) -> str:
    """Return the text of a program with other axes of the mesh of that name.

    The list of devices of the mesh is dropped, and what JAX notes about it elsewhere is updated or dropped. The text
    may break rules that are checked after parsing: a sharding may refer to an axis that the mesh no longer has.
    Raises: SdyError if the text cannot be parsed.
    """
    found = ProgramText(text)
    meshes = [op for op in parse_module(text, file).ops if isinstance(op, MeshOp)]
    for op in meshes:
        if op.sym_name.data == mesh:
            new = Mesh(tuple(MeshAxis(name, size) for name, size in axes.items()))
            start = text.index("<", found.offset(op))
            end = found.closing(start)
            note = _MESH_OF_JAX.match(text, end)
            text = text[:start] + str(new) + text[end if note is None else found.closing(note.end() - 1) :]
            if len(meshes) == 1:
                text = _PARTITIONS_OF_JAX.sub(rf"\g<1>{new.device_count}", text, count=1)
    return text


def with_argument_lines(text: str, file: str) -> str:
    """Return the text of a program in which long headers of functions have one line for each argument and result.

    Raises: SdyError if the text cannot be parsed.
    """
    found = ProgramText(text)
    offsets = [found.offset(op) for op in parse_module(text, file).walk() if isinstance(op, FuncOp)]
    for offset in sorted(offsets, reverse=True):  # so that the other offsets stay valid
        start, end = found.line(offset)
        if end - start > LONGEST_LINE:
            indent = text[start:end][: -len(text[start:end].lstrip())]
            text = _with_broken_lists(text, found.function(offset), indent)
    return text


def _with_broken_lists(text: str, header: FunctionText, indent: str) -> str:
    """Return the text in which the lists of arguments and of results in a header are broken into lines."""
    for elements in (() if header.results_are_bare else header.results, header.arguments):
        if elements:
            (start, _), (_, end) = elements[0], elements[-1]
            lines = ",".join(f"\n{indent}{INDENT}{text[first:last].strip()}" for first, last in elements)
            text = f"{text[:start]}{lines}\n{indent}{text[end:]}"
    return text


def with_dim_axes(program: Program, value: str, dim: int, axes: Sequence[str], *, is_closed: bool) -> str:
    """Return the text of a program in which a dim of a value is annotated with other axes.

    The axes leave the other dims of the value. A value inside the program gets a sharding constraint.
    Raises: SdyError SDY-T203 if no value has the name, and any error in the axes.
    """
    target = _target(program, value)
    if target is None:
        return program.origin.text
    refs = tuple(map(parse_axis_ref, axes))
    sharding = reduce(without_axis, refs, target.sharding)
    old = sharding.dims[dim]
    priority = None if is_closed and not refs else old.priority
    edited = with_dim(sharding, dim, DimSharding(refs, is_closed, priority))
    return text_with_changes(program.origin.text, program.module, [Edit(target.value, edited)])


def annotation_json(program: Program, value: str) -> dict[str, object] | None:
    """Return the annotation of a value, with the lists of axes that each dim could be sharded along.

    Return None for a value without dims, or of a program without a mesh.
    Raises: SdyError SDY-T203 if no value has the name.
    """
    target = _target(program, value)
    mesh = None if target is None else resolve_mesh(target.mesh, meshes_of(program.module))
    shape = None if target is None else static_shape(target.ssa_value.type)
    if target is None or mesh is None or not mesh.axes or not shape:
        return None
    return {
        "is_annotated": target.annotation is not None,
        "dims": [
            {
                "size": size,
                "axes": list(map(str, dim.axes)),
                "closed": dim.is_closed,
                "choices": _choices(mesh, dim),
            }
            for size, dim in zip(shape, target.sharding.dims, strict=True)
        ],
    }


def _choices(mesh: Mesh, dim: DimSharding) -> list[dict[str, object]]:
    """Return lists of axes by the number of shards, with this number; the own axes of the dim are among them."""
    refs = [AxisRef(axis.name) for axis in mesh.axes]
    if len(refs) <= MOST_ORDERED_AXES:
        lists = chain.from_iterable(permutations(refs, count) for count in range(len(refs) + 1))
    else:
        lists = chain.from_iterable(combinations(refs, count) for count in range(MOST_AXES_OF_DIM + 1))
    counted = {axes: sharded_size(axes, mesh) for axes in (*lists, dim.axes)}
    return [
        {"axes": list(map(str, axes)), "shards": shards}
        for axes, shards in sorted(counted.items(), key=lambda each: each[1])
    ]


@dataclass(frozen=True, slots=True)
class _Target:
    """A value that can be annotated, and its annotation: fully open if it has none.

    For a result of the main function, `value` is its number, and `ssa_value` the value that is returned.
    """

    value: SSAValue | int
    ssa_value: SSAValue
    annotation: TensorSharding | None
    mesh: str | Mesh

    @property
    def sharding(self) -> TensorSharding:
        """The annotation, or a fully open sharding."""
        return self.annotation or fully_open(self.mesh, len(static_shape(self.ssa_value.type) or ()))


def _target(program: Program, name: str) -> _Target | None:
    """Return the value of that name; None if the program has no mesh. Raises: SdyError SDY-T203 if there is none."""
    main, origin = main_function(program.module), program.origin
    names = ValueNames(program.module, origin.text, origin.argument_names)
    (value, *_) = names.find(origin.names_in_text(name)[0])
    results = boundary_values(program.module, origin.argument_names)[len(main.body.block.args) :]
    number = next((index for index, each in enumerate(results) if name in each.names), None)
    annotation = sharding_of(value) if number is None else results[number].sharding
    meshes = [each for each, mesh in meshes_of(program.module).items() if mesh.axes]
    if annotation is None and not meshes:
        return None
    return _Target(value if number is None else number, value, annotation, annotation.mesh if annotation else meshes[0])


Json = dict[str, object]

FILE = "program.mlir"  # the name of the program in locations
KEPT_PROGRAMS = 8


def answer(question: str) -> str:
    """Return the answer to a question, both as JSON. The answer to an error of the user is `{"diagnostics": [...]}`."""
    asked: dict[str, Any] = loads(question)
    try:
        found = _answer(asked)
    except SdyError as error:
        found = {"diagnostics": [_diagnostic_json(each, asked["text"]) for each in error.diagnostics]}
    return dumps(found, allow_nan=False)


def _answer(asked: Mapping[str, Any]) -> Json:
    """Return the answer to a question. Raises: SdyError with the errors of the program, or of what is asked."""
    text: str = asked["text"]
    match asked:
        case {"ask": "analysis", "machine": machine}:  # the documents of `sdy report`, `sdy cost` and `sdy partition`
            return _analysis(_program(text), machine)
        case {"ask": "value", "value": value}:  # the document of `sdy explain` on a value, and its annotation
            return _value(_program(text), value)
        case {"ask": "why-not", "value": value, "dim": dim, "axis": axis}:
            reasons = _program(text).why_not(value, dim=dim, axis=axis)
            return {"explanation": _explanation(why_not=reasons.splitlines())}
        case {"ask": "mesh", "mesh": mesh, "axes": axes}:  # the text with other axes: sizes by name, major first
            return {"text": with_mesh_axes(text, mesh, axes, FILE)}
        case {"ask": "annotation", "value": value, "dim": dim, "axes": axes, "closed": is_closed}:
            return {"text": with_dim_axes(_program(text), value, dim, axes, is_closed=is_closed)}
        case {"ask": "format"}:  # the text with one line for each argument of functions with long headers
            return {"text": with_argument_lines(text, FILE)}
        case _:
            raise ValueError(f"unknown question {asked}")


@garbage_collection_paused()
def _analysis(program: Program, machine: str) -> Json:
    """Return what the commands print about the program with `--json`, and the rows of the ops of the HTML page."""
    hardware = resolve_hardware(machine)
    facts, partitioned = program.partition_summary(hardware), program.partition()
    statistics = statistics_of(partitioned.local)
    rows = ProgramRows(program.module, partitioned.global_module, facts.explainer, program.origin.argument_names)
    return {
        "report": report_json(facts),
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
