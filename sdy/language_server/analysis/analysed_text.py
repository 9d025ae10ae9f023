"""The analysis of one version of a program: its module, where its values are defined, and the findings of `sdy lint`.

The shardings that propagation gave to values without one in the text are shown as hints, next to their names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.advice.lint.annotated_text import Replacement, replacements
from sdy.advice.lint.settings import nearest_settings
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import print_module
from sdy.dialects.sdy.ops import ReshardOp, ShardingConstraintOp
from sdy.dialects.sharded_types import local_type, static_shape, tensor_bytes
from sdy.dialects.shardings import sharding_of
from sdy.language_server.text.document import Document, Position
from sdy.language_server.text.value_index import Definition, ValueIndex
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import unsharded, with_closed
from sdy.program.program import Program
from sdy.report.explanation.explainer import Explainer
from sdy.report.explanation.trace_descriptions import dims_text


@dataclass(frozen=True, slots=True)
class Hint:
    """A text after the name of a value, and a longer one that is shown on demand."""

    position: Position
    label: str
    tooltip: str


def inlay_hints(analysis: AnalysedText, first: int, last: int) -> Iterator[Hint]:
    """Yield the hints on the lines from `first` to `last`. A program without a mesh gets none."""
    explainer = analysis.explainer
    if explainer is None or not analysis.meshes:
        return
    for (start, name), values in analysis.definitions(first, last):
        shown = [each for each in values if not _is_annotated(each) and static_shape(each.type)]
        labels = dict.fromkeys(label for value in shown for label in _labels(explainer, value))
        if labels:
            tooltip = "\n".join(dict.fromkeys(_local_type(analysis, explainer, value) for value in shown))
            yield Hint(Position(start.line, start.column + len(name)), " / ".join(labels), tooltip)


def _is_annotated(value: SSAValue) -> bool:
    return sharding_of(value) is not None or isinstance(value.owner, ShardingConstraintOp | ReshardOp)


def _labels(explainer: Explainer, value: SSAValue) -> Iterator[str]:
    """Yield the sharding of each copy of a value: each use of a constant has one."""
    for sharding in explainer.values.shardings(value):
        yield dims_text(_closed(sharding, len(static_shape(value.type) or ())))


def _closed(sharding: TensorSharding | None, rank: int) -> TensorSharding:
    if sharding is None:
        return unsharded("mesh", rank, is_closed=True)
    return with_closed(sharding, range(sharding.rank))


def _local_type(analysis: AnalysedText, explainer: Explainer, value: SSAValue) -> str:
    """Return the type of a value on each device, with its size, and the global type."""
    shardings: Sequence[TensorSharding | None] = explainer.values.shardings(value)
    sharding = shardings[0] if shardings else None
    mesh = None if sharding is None else resolve_mesh(sharding.mesh, analysis.meshes)
    local = None if sharding is None or mesh is None else local_type(value.type, sharding, mesh)
    shown = value.type if local is None else local
    owner = f"{value.owner.name}: " if isinstance(value.owner, Operation) else ""
    return f"{owner}{shown} on each device, {tensor_bytes(shown):,} bytes; {value.type} in all"


class AnalysedText:
    """A program and its propagation. `explainer` is None if the shardings could not be propagated: see `problems`."""

    def __init__(self, text: str, file: str) -> None:
        """Parse, verify and propagate. Raises: SdyError with the first error in the text."""
        with garbage_collection_paused():
            self.document = Document(text)
            program = Program.from_text(text, file)
            self.module: ModuleOp = program.module
            self.meshes: dict[str, Mesh] = meshes_of(self.module)
            self.problems: Sequence[Diagnostic] = ()
            self.explainer: Explainer | None = None
            try:
                self.explainer = self._explained(program)
            except SdyError as error:
                self.problems = error.diagnostics
            self._index = ValueIndex(pre_order(self.module), self.document, file)
            self._by_line: dict[int, list[Definition]] = defaultdict(list)
            for definition in self._index.values:
                self._by_line[definition[0].line].append(definition)

    def _explained(self, program: Program) -> Explainer:
        explainer = Explainer(self.module, program.origin, program.options)
        self.problems = explainer.diagnostics
        return explainer

    def values(self, definition: Definition) -> list[SSAValue]:
        """Return the values with a name that is defined at a position; none if none is there."""
        return self._index.values.get(definition, [])

    def op_at(self, position: Position) -> Operation | None:
        """Return the op whose name begins at a position."""
        return self._index.ops.get(position)

    def definitions(self, first: int, last: int) -> Iterator[tuple[Definition, list[SSAValue]]]:
        """Yield the definitions on the lines from `first` to `last`, with the values that they name."""
        for line in range(first, last + 1):
            for definition in self._by_line.get(line, ()):
                yield definition, self._index.values[definition]


@dataclass(frozen=True, slots=True)
class Remedy:
    """A fix of `sdy lint` that was tried: what it does, and the edits of the text, as offsets.

    A safe one raises neither bytes, time nor memory, so that `sdy lint --fix` applies it.
    """

    title: str
    edits: tuple[Replacement, ...]
    is_safe: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """A finding of `sdy lint`, and its fix if there is one."""

    diagnostic: Diagnostic
    remedy: Remedy | None


def advice(text: str, file: str, machine: str | None) -> list[Advice]:
    """Return the findings in the text of a program, with the settings of the nearest pyproject.toml.

    `machine` overrides the machine of the settings. Raises: SdyError if the program cannot be partitioned, SDY-T240 if
    the settings are malformed, SDY-T209 if the machine is unknown.
    """
    settings = nearest_settings(Path(file).parent)
    program = Program.from_text(text, file)
    report = program.lint(settings if machine is None else replace(settings, on=machine))
    found: list[Advice] = []
    for each in report.findings:
        remedy = None
        if each.fix is not None:
            edits = replacements(text, program.module, each.fix.fix.changes)
            remedy = Remedy(each.fix.fix.text, tuple(edits), each.is_fixable)
        found.append(Advice(each.diagnostic(), remedy))
    return found


def local_program(text: str, file: str) -> str:
    """Return the text of the program that each device runs. Raises: SdyError if the program cannot be partitioned."""
    return print_module(Program.from_text(text, file).partition().local)
