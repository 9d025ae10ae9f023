"""Answers to questions about a position of a document, from the last analysis of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sdy.language_server.analysis.inlay_hints import Hint
from sdy.language_server.open_document import OpenDocument
from sdy.language_server.services import AnalysisService
from sdy.language_server.text.document import Position, Token, TokenKind


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
