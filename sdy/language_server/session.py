"""The open documents, and what is computed about each after a change: errors, then shardings, then advice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sdy.diagnostics.diagnostic import SdyError
from sdy.language_server.diagnostics import Problem, problems
from sdy.language_server.document import Document, LineMap, Position, Token, TokenKind
from sdy.language_server.navigation import Names
from sdy.language_server.services import AnalysisService, CheckService
from sdy.language_server.worker import Lane, Worker

ANALYSIS_DELAY = 0.3  # seconds without a change, after which shardings are propagated


@dataclass
class OpenDocument:
    """A document in an editor: its newest version, and what is known about it or about an older version."""

    uri: str
    file: str
    names: Names
    errors: Sequence[Problem] = ()
    analysed: Document | None = None  # the version that the analysis worker answers questions about
    warnings: Sequence[Problem] = ()  # of that version

    @property
    def document(self) -> Document:
        """The newest version."""
        return self.names.document


@dataclass(frozen=True, slots=True)
class Hover:
    """A text in Markdown about a token of a document."""

    text: str
    token: Token


class Session:
    """The documents of one editor, and the processes that compute what it asks about them.

    `publish` is called with a document and its problems when these are found, `analysed` when shardings are.
    """

    def __init__(
        self, publish: Callable[[OpenDocument, Sequence[Problem]], None], analysed: Callable[[], None]
    ) -> None:
        self._publish = publish
        self._analysed = analysed
        self._opened: dict[str, OpenDocument] = {}
        self._checker = Worker(CheckService)
        self._analyser = Worker(AnalysisService)
        self._checking, self._analysing = asyncio.Lock(), asyncio.Lock()

    def stop(self) -> None:
        """End the processes."""
        for worker in (self._checker, self._analyser):
            worker.stop()

    def document(self, uri: str) -> OpenDocument | None:
        """Return an open document; None if it is not open."""
        return self._opened.get(uri)

    async def change(self, uri: str, file: str, document: Document) -> None:
        """Open a document or replace its text, and find what is wrong with it, until it changes again."""
        opened = self._opened.get(uri)
        if opened is None:
            opened = self._opened[uri] = OpenDocument(uri, file, Names(document))
        opened.names = Names(document)
        # Of several versions that wait here, all but the newest one are dropped.
        async with self._checking:
            if opened.document is not document:
                return
            found = await self._checker.call(Lane.COMPUTE, CheckService.check, uri, file, document.text)
        if opened.document is not document:
            return
        opened.errors = list(problems(found, document, file))
        self._show(opened)
        if not found:
            await asyncio.sleep(ANALYSIS_DELAY)
            await self._analyse(opened, document)

    async def close(self, uri: str) -> None:
        """Forget a document."""
        if self._opened.pop(uri, None) is not None:
            await self._checker.call(Lane.QUERY, CheckService.close, uri)
            await self._analyser.call(Lane.QUERY, AnalysisService.close, uri)

    async def _analyse(self, opened: OpenDocument, document: Document) -> None:
        """Propagate the shardings of a version, unless there is a newer one."""
        async with self._analysing:
            if opened.document is not document:
                return
            arguments = opened.uri, opened.file, document.text, document.version
            try:
                found = await self._analyser.call(Lane.COMPUTE, AnalysisService.analyse, *arguments)
            except SdyError as error:
                opened.errors = list(problems(error.diagnostics, document, opened.file))
            else:
                opened.analysed = document
                opened.warnings = list(problems(found, document, opened.file))
        if opened.document is document:
            self._show(opened)
            self._analysed()

    def _show(self, opened: OpenDocument) -> None:
        lines = self._lines(opened)
        moved = [] if lines is None else [each.moved(lines) for each in opened.warnings]
        self._publish(opened, [*opened.errors, *(each for each in moved if each is not None)])

    def _lines(self, opened: OpenDocument) -> LineMap | None:
        """Return the map from the lines of the analysed version to those of the newest one."""
        if opened.analysed is None:
            return None
        return LineMap.between(opened.analysed.lines, opened.document.lines)

    async def hover(self, uri: str, position: Position) -> Hover | None:
        """Return the text about the token at a position; None if nothing is known about it."""
        opened = self._opened.get(uri)
        if opened is None:
            return None
        token = opened.document.token_at(opened.document.offset(position))
        text = None if token is None else await self._hover_text(opened, token)
        return None if token is None or text is None else Hover(text, token)

    async def _hover_text(self, opened: OpenDocument, token: Token) -> str | None:
        query, names = Lane.QUERY, opened.names
        analysed = opened.analysed
        if analysed is None:
            return None
        key = opened.uri, analysed.version
        match token.kind:
            case TokenKind.VALUE:
                start = names.scopes.definition(token.text, token.start)
                position = None if start is None else self._analysed_position(opened, start)
                if position is None:
                    return None
                definition = position, token.text
                return await self._analyser.call(query, AnalysisService.value_hover, key, definition)
            case TokenKind.SYMBOL:
                return await self._analyser.call(query, AnalysisService.symbol_hover, key, token.text[1:])
            case TokenKind.STRING if (found := names.symbols.axis(token)) is not None:
                mesh, axis = found
                return await self._analyser.call(query, AnalysisService.axis_hover, key, axis.name, mesh.name)
            case TokenKind.STRING | TokenKind.NAME:
                position = self._analysed_position(opened, token.start)
                if position is None:
                    return None
                return await self._analyser.call(query, AnalysisService.op_hover, key, position)
            case _:
                return None

    def _analysed_position(self, opened: OpenDocument, offset: int) -> Position | None:
        """Return where an offset of the newest version was in the analysed one; None if its line has changed since."""
        lines = self._lines(opened)
        position = opened.document.position(offset)
        line = None if lines is None else lines.to_old(position.line)
        return None if line is None else Position(line, position.column)
