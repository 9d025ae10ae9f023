"""A document in an editor: its newest version, what is known of it and of older versions, and answers from that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sdy.language_server.analysis.analysed_text import Hint, Remedy
from sdy.language_server.diagnostics import Problem
from sdy.language_server.services import AnalysisService
from sdy.language_server.text.document import Document, LineMap, Position, Token, TokenKind
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


@dataclass(frozen=True, slots=True)
class Hover:
    """A text in Markdown about a token of a document."""

    text: str
    token: Token


async def hover(opened: OpenDocument, offset: int) -> Hover | None:
    """Return the text about the token at an offset; None if nothing is known about it yet."""
    token = opened.document.token_at(offset)
    text = None if token is None else await _hover_text(opened, token)
    return None if token is None or text is None else Hover(text, token)


async def _hover_text(opened: OpenDocument, token: Token) -> str | None:
    names, analyser = opened.names, opened.analyser
    if analyser is None:
        return None
    match token.kind:
        case TokenKind.VALUE:
            start = names.scopes.definition(token.text, token.start)
            position = None if start is None else opened.analysed_position(start)
            if position is None:
                return None
            return await analyser.call(AnalysisService.value_hover, (position, token.text))
        case TokenKind.SYMBOL:
            return await analyser.call(AnalysisService.symbol_hover, token.text[1:])
        case TokenKind.STRING if (found := names.symbols.axis(token)) is not None:
            mesh, axis = found
            return await analyser.call(AnalysisService.axis_hover, axis.name, mesh.name)
        case TokenKind.STRING | TokenKind.NAME:
            position = opened.analysed_position(token.start)
            if position is None:
                return None
            return await analyser.call(AnalysisService.op_hover, position)
        case _:
            return None


async def inlay_hints(opened: OpenDocument, first: int, last: int) -> list[Hint]:
    """Return the hints on the lines from `first` to `last`, except on those that changed since the analysis."""
    lines = opened.lines()
    if opened.analyser is None or lines is None:
        return []
    moved = lines.old_end - lines.new_end
    span = min(first, first + moved), max(last, last + moved)
    hints = await opened.analyser.call(AnalysisService.inlay_hints, *span)
    found: list[Hint] = []
    for hint in hints:
        line = lines.to_new(hint.position.line)
        if line is not None and first <= line <= last:
            found.append(replace(hint, position=Position(line, hint.position.column)))
    return found
