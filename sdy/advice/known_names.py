"""The axes, functions and sources of a program, by which a contract may select collectives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from sdy.advice.partition_summary import PartitionSummary
from sdy.diagnostics.counted import first_names
from sdy.diagnostics.diagnostic import Diagnostic
from sdy.diagnostics.similar_names import similar_name_hint
from sdy.diagnostics.span import Span
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.report.explanation.value_names import line_of, source_text


class KnownNames:
    """The names that a partitioned program has."""

    def __init__(self, facts: PartitionSummary) -> None:
        self._program = facts.compiled

    def errors(
        self, axes: frozenset[str], function: str | None, source: str | None, spans: Mapping[str, Span]
    ) -> Iterator[Diagnostic]:
        """Yield an error for each name of a selector that the program does not have.

        `spans` has the locations of `axes`, `function` and `source` in the file of the contract, if there is one.
        """
        for axis in sorted(axes):
            yield from _errors(f'no mesh of the program has an axis "{axis}"', axis, self._axes, spans.get("axes"))
        if function is not None:
            names, message = list(functions_of(self._program.written)), f"the program has no function @{function}"
            yield from _errors(message, function, names, spans.get("function"))
        if source is not None:
            yield from _errors(f"no op of the program comes from {source}", source, self._sources, spans.get("source"))

    @cached_property
    def _axes(self) -> list[str]:
        meshes = (self._program.mesh, *meshes_of(self._program.written).values())
        return list(dict.fromkeys(axis.name for mesh in meshes for axis in mesh.axes))

    @cached_property
    def _sources(self) -> list[str]:
        """The files, then the lines that ops come from."""
        lines = dict.fromkeys(line_of(op) for op in pre_order(self._program.written))
        sources = dict.fromkeys(source_text(line, self._program.origin.source_lines) for line in lines)
        files = dict.fromkeys(source.rpartition(":")[0] for source in sources)
        return [name for name in (*files, *sources) if name]


def _errors(message: str, name: str, known: Sequence[str], span: Span | None) -> Iterator[Diagnostic]:
    if name not in known:
        listed = f"the program has {first_names(known)}" if known else None
        yield Diagnostic("SDY-C011", message, span, hint=similar_name_hint(name, known) or listed)
