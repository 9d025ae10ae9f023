"""Answers to questions about a position of a document, from the last analysis of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sdy.language_server.document import Position, Token, TokenKind
from sdy.language_server.inlay_hints import Hint
from sdy.language_server.open_document import OpenDocument
from sdy.language_server.services import AnalysisService
from sdy.language_server.worker import Lane, Worker


@dataclass(frozen=True, slots=True)
class Hover:
    """A text in Markdown about a token of a document."""

    text: str
    token: Token


async def hover(analyser: Worker[AnalysisService], opened: OpenDocument, offset: int) -> Hover | None:
    """Return the text about the token at an offset; None if nothing is known about it yet."""
    token = opened.document.token_at(offset)
    text = None if token is None else await _hover_text(analyser, opened, token)
    return None if token is None or text is None else Hover(text, token)


async def _hover_text(analyser: Worker[AnalysisService], opened: OpenDocument, token: Token) -> str | None:
    if opened.analysed is None:
        return None
    names, key = opened.names, (opened.uri, opened.analysed.version)
    match token.kind:
        case TokenKind.VALUE:
            start = names.scopes.definition(token.text, token.start)
            position = None if start is None else opened.analysed_position(start)
            if position is None:
                return None
            return await analyser.call(Lane.QUERY, AnalysisService.value_hover, key, (position, token.text))
        case TokenKind.SYMBOL:
            return await analyser.call(Lane.QUERY, AnalysisService.symbol_hover, key, token.text[1:])
        case TokenKind.STRING if (found := names.symbols.axis(token)) is not None:
            mesh, axis = found
            return await analyser.call(Lane.QUERY, AnalysisService.axis_hover, key, axis.name, mesh.name)
        case TokenKind.STRING | TokenKind.NAME:
            position = opened.analysed_position(token.start)
            if position is None:
                return None
            return await analyser.call(Lane.QUERY, AnalysisService.op_hover, key, position)
        case _:
            return None


async def inlay_hints(analyser: Worker[AnalysisService], opened: OpenDocument, first: int, last: int) -> list[Hint]:
    """Return the hints on the lines from `first` to `last`, except on those that changed since the analysis."""
    lines = opened.lines()
    if opened.analysed is None or lines is None:
        return []
    moved = lines.old_end - lines.new_end
    span = min(first, first + moved), max(last, last + moved)
    key = opened.uri, opened.analysed.version
    hints = await analyser.call(Lane.QUERY, AnalysisService.inlay_hints, key, *span)
    found: list[Hint] = []
    for hint in hints:
        line = lines.to_new(hint.position.line)
        if line is not None and first <= line <= last:
            found.append(replace(hint, position=Position(line, hint.position.column)))
    return found
