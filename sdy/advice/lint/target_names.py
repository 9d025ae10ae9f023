"""Names and locations of the values of the user's program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from sdy.advice.lint.program_text import ProgramText, UnsupportedTextError
from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import Span
from sdy.dialects.data_flow import op_of
from sdy.dialects.ir.op_location import span_of
from sdy.report.boundary import boundary_values
from sdy.report.explanation.explainer import Explainer
from sdy.report.explanation.value_names import source_text

Target = SSAValue | int  # a value of the user's program, or the number of a result of its main function


class TargetNames:
    """The names and the locations of the values of a program; `boundary` holds its arguments and result numbers."""

    def __init__(self, program: Compiled[Any], explainer: Explainer, main: FuncOp, boundary: Sequence[Target]) -> None:
        self._program, self._explainer, self._main, self._boundary = program, explainer, main, boundary

    def name(self, target: Target) -> str:
        """Return the name of a value as the user knows it: `%w`, `params['w']`, or `result[1]`."""
        if isinstance(target, int) or (target in self._boundary_names and self._program.origin.argument_names):
            return self._boundary_names[target]
        return self._explainer.names[target]

    @cached_property
    def _boundary_names(self) -> dict[Target, str]:
        listed = boundary_values(self._program.written, self._program.origin.argument_names)
        return {target: each.name for target, each in zip(self._boundary, listed, strict=True)}

    def span(self, target: Target) -> Span | None:
        """Return the location of an argument or a result in the header, or of the op that defines a value."""
        if target in self._boundary_spans:
            return self._boundary_spans[target]
        op = self._main if isinstance(target, int) else op_of(target)
        return None if op is None else span_of(op)

    @cached_property
    def _boundary_spans(self) -> Mapping[Target, Span]:
        text, span = ProgramText(self._program.origin.text), span_of(self._main)
        try:
            header = text.function(text.offset(self._main))
        except UnsupportedTextError:
            return {}
        offsets = (*header.arguments, *header.results)
        if span is None or len(offsets) != len(self._boundary):
            return {}
        return {target: text.span(*found, span.file) for target, found in zip(self._boundary, offsets, strict=True)}

    def with_source(self, span: Span | None) -> Span | None:
        """Return a location with the Python line that its line comes from, if that is known."""
        lines = self._program.origin.source_lines
        return None if span is None else span._replace(source=lines.get(span.line, span.source))

    def source(self, span: Span | None) -> str:
        """Return the line of a location as the user knows it: `train.py:20`, or `line 7`."""
        return "" if span is None else source_text(span.line, self._program.origin.source_lines)
