"""A document in an editor: its newest version, and what is known about it and about older versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sdy.language_server.analysis.analysed_text import Remedy
from sdy.language_server.diagnostics import Problem
from sdy.language_server.services import AnalysisService
from sdy.language_server.text.document import Document, LineMap, Position
from sdy.language_server.text.navigation import Names
from sdy.language_server.worker import Worker


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of `sdy lint` in a version of a document, and its fix if there is one."""

    problem: Problem
    remedy: Remedy | None


@dataclass
class OpenDocument:
    """A document, its newest version with the names in it, and the last results, each with its version."""

    uri: str
    file: str
    names: Names
    errors: Sequence[Problem] = ()  # of the newest version that was checked
    analyser: Worker[AnalysisService] | None = None  # answers questions about the version that was analysed last
    analysed: Document | None = None  # that version
    warnings: Sequence[Problem] = ()  # of that version
    advised: Document | None = None  # the version that was linted last
    findings: Sequence[Finding] = ()  # of that version

    @property
    def document(self) -> Document:
        """The newest version."""
        return self.names.document

    def problems(self) -> Iterator[Problem]:
        """Yield the errors, and what was found in older versions on lines that have not changed since."""
        yield from self.errors
        older = ((self.analysed, self.warnings), (self.advised, [each.problem for each in self.findings]))
        for version, problems in older:
            if version is not None:
                lines = LineMap.between(version.lines, self.document.lines)
                moved = (each.moved(lines) for each in problems)
                yield from (each for each in moved if each is not None)

    def current_findings(self) -> Sequence[Finding]:
        """Return the findings, if they are those of the newest version: their edits fit no other one."""
        return self.findings if self.advised is self.document else ()

    def lines(self) -> LineMap | None:
        """Return the map from the lines of the analysed version to those of the newest one."""
        return None if self.analysed is None else LineMap.between(self.analysed.lines, self.document.lines)

    def analysed_position(self, offset: int) -> Position | None:
        """Return where an offset of the newest version was in the analysed one; None if its line has changed since."""
        lines = self.lines()
        position = self.document.position(offset)
        line = None if lines is None else lines.to_old(position.line)
        return None if line is None else Position(line, position.column)
