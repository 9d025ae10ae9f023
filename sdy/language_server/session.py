"""The open documents of an editor: what is known about each version, what is computed after a change, and answers.

A text is checked at once. If it has no errors, its shardings are propagated when it has not changed for a moment, and
if it has not changed for longer, it is linted. Each of these has a process of its own. Of several versions that wait
for a process, only the newest one is computed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sdy.diagnostics.diagnostic import SdyError
from sdy.language_server.analysis.analysed_text import Hint, Remedy
from sdy.language_server.diagnostics import Problem, problems
from sdy.language_server.services import AdviceService, AnalysisService, CheckService
from sdy.language_server.text.document import Document, LineMap, Position, Token, TokenKind
from sdy.language_server.text.navigation import Names
from sdy.language_server.worker import Worker, WorkerStoppedError


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
        for version, noted in older:
            if version is not None:
                lines = LineMap.between(version.lines, self.document.lines)
                moved = (each.moved(lines) for each in noted)
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


ANALYSIS_DELAY, ADVICE_DELAY = 0.3, 1.0  # seconds without a change
STOP_DELAY = 5.0  # seconds in which an analysis answers questions after there is a newer one


class Session:
    """The documents of one editor, and the processes that compute what it asks about them.

    `publish` is called when problems of a document are found, `analysed` when its shardings are propagated. `machine`
    is the machine of the linter; None for that of its settings. Each process begins with `prepare`.
    """

    def __init__(
        self,
        publish: Callable[[OpenDocument], None],
        analysed: Callable[[], None],
        machine: str | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._publish = publish
        self._analysed = analysed
        self._machine = machine
        self._prepare = prepare
        self._opened: dict[str, OpenDocument] = {}
        self._checker = Worker(CheckService, prepare)
        self._adviser = Worker(AdviceService, prepare)
        self._checking, self._analysing, self._advising = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()
        self._linted: OpenDocument | None = None  # the document that is being linted
        self._linting_again: asyncio.Task[None] | None = None  # after an interruption

    def stop(self) -> None:
        """End the processes."""
        analysers = (opened.analyser for opened in self._opened.values())
        for worker in (self._checker, self._adviser, *analysers):
            if worker is not None:
                worker.stop()

    @property
    def is_linting(self) -> bool:
        """Return whether a document is being linted."""
        return self._linted is not None

    def document(self, uri: str) -> OpenDocument | None:
        """Return an open document; None if it is not open."""
        return self._opened.get(uri)

    async def change(self, uri: str, file: str, document: Document) -> None:
        """Open a document or replace its text, and find what is wrong with it, until it changes again."""
        opened = self._opened.get(uri)
        if opened is None:
            opened = self._opened[uri] = OpenDocument(uri, file, Names(document))
        opened.names = Names(document)
        if self._linted is opened:
            self._adviser.stop()
        has_errors = await self._check(opened, document)
        await asyncio.sleep(ANALYSIS_DELAY)
        if opened.document is document:
            await self._checker.call(CheckService.prepare, uri)
        if not has_errors:
            await self._analyse(opened, document)
            await asyncio.sleep(ADVICE_DELAY)
            await self._advise(opened, document)

    async def close(self, uri: str) -> None:
        """Forget a document."""
        opened = self._opened.pop(uri, None)
        if opened is not None:
            opened.names = Names(Document(""))  # so that nothing more is computed about it
            if self._linted is opened:
                self._adviser.stop()
            if opened.analyser is not None:
                opened.analyser.stop()
            await self._checker.call(CheckService.close, uri)

    async def local_program(self, uri: str) -> str | None:
        """Return the text of the program that each device runs; None if the document is not open.

        Raises: SdyError if the program has errors or cannot be partitioned.
        """
        opened = self._opened.get(uri)
        if opened is None:
            return None
        linted, document = self._linted, opened.document
        if linted is not None:
            self._adviser.stop()
        try:
            return await self._adviser.call(AdviceService.local_program, document.text, opened.file)
        finally:
            if linted is not None:
                self._linting_again = asyncio.create_task(self._advise(linted, linted.document))

    async def _check(self, opened: OpenDocument, document: Document) -> bool:
        """Find the errors of a version if it is the newest one, and return whether it has any."""
        async with self._checking:
            if opened.document is not document:
                return True
            arguments = opened.uri, opened.file, document.text
            found = await self._checker.call(CheckService.check, *arguments)
        if opened.document is not document:
            return True
        opened.errors = list(problems(found, document, opened.file))
        self._publish(opened)
        return bool(found)

    async def _analyse(self, opened: OpenDocument, document: Document) -> None:
        """Propagate the shardings of a version, unless there is a newer one."""
        async with self._analysing:
            if opened.document is not document:
                return
            analyser, previous = Worker(AnalysisService, self._prepare), opened.analyser
            try:
                found = await analyser.call(AnalysisService.analyse, opened.file, document.text)
            except SdyError as error:
                analyser.stop()
                opened.errors = list(problems(error.diagnostics, document, opened.file))
                self._publish(opened)
                return
            if self._opened.get(opened.uri) is not opened:
                analyser.stop()
                return
            opened.analyser, opened.analysed = analyser, document
            opened.warnings = list(problems(found, document, opened.file))
            if previous is not None:  # which may still be answering
                asyncio.get_running_loop().call_later(STOP_DELAY, previous.stop)
        self._publish(opened)
        self._analysed()

    async def _advise(self, opened: OpenDocument, document: Document) -> None:
        """Lint a version, unless there is a newer one or it changes meanwhile."""
        async with self._advising:
            if opened.document is not document:
                return
            self._linted = opened
            arguments = document.text, opened.file, self._machine
            try:
                found = await self._adviser.call(AdviceService.advice, *arguments)
            except WorkerStoppedError:
                return
            except SdyError as error:
                opened.findings = [Finding(each, None) for each in problems(error.diagnostics, document, opened.file)]
            else:
                shown = problems((each.diagnostic for each in found), document, opened.file)
                opened.findings = [Finding(problem, each.remedy) for problem, each in zip(shown, found, strict=True)]
            finally:
                self._linted = None
            opened.advised = document
        self._publish(opened)
