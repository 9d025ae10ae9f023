"""The open documents of an editor, and what is computed about each after a change.

A text is checked at once. If it has no errors, its shardings are propagated when it has not changed for a moment, and
if it has not changed for longer, it is linted. Each of these has a process of its own. Of several versions that wait
for a process, only the newest one is computed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sdy.diagnostics.diagnostic import SdyError
from sdy.language_server.diagnostics import problems
from sdy.language_server.document import Document
from sdy.language_server.navigation import Names
from sdy.language_server.open_document import Finding, OpenDocument
from sdy.language_server.services import AdviceService, AnalysisService, CheckService
from sdy.language_server.worker import Lane, Worker, WorkerStoppedError

ANALYSIS_DELAY, ADVICE_DELAY = 0.3, 1.0  # seconds without a change


class Session:
    """The documents of one editor, and the processes that compute what it asks about them.

    `publish` is called when problems of a document are found, `analysed` when its shardings are propagated. `machine`
    is the machine of the linter; None for that of its settings.
    """

    def __init__(
        self, publish: Callable[[OpenDocument], None], analysed: Callable[[], None], machine: str | None = None
    ) -> None:
        self._publish = publish
        self._analysed = analysed
        self._machine = machine
        self._opened: dict[str, OpenDocument] = {}
        self._checker = Worker(CheckService)
        self.analyser = Worker(AnalysisService)
        """Answers questions about the analysed versions of the documents."""
        self._adviser = Worker(AdviceService)
        self._checking, self._analysing, self._advising = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()
        self._linted: OpenDocument | None = None  # the document that is being linted
        self._linting_again: asyncio.Task[None] | None = None  # after an interruption

    def stop(self) -> None:
        """End the processes."""
        for worker in (self._checker, self.analyser, self._adviser):
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
        if self._linted is opened:
            self._adviser.stop()
        if await self._check(opened, document):
            await asyncio.sleep(ANALYSIS_DELAY)
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
            await self._checker.call(Lane.COMPUTE, CheckService.close, uri)
            await self.analyser.call(Lane.COMPUTE, AnalysisService.close, uri)

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
            return await self._adviser.call(Lane.COMPUTE, AdviceService.local_program, document.text, opened.file)
        finally:
            if linted is not None:
                self._linting_again = asyncio.create_task(self._advise(linted, linted.document))

    async def _check(self, opened: OpenDocument, document: Document) -> bool:
        """Find the errors of a version, and return whether it is still the newest one and has none."""
        async with self._checking:
            if opened.document is not document:
                return False
            arguments = opened.uri, opened.file, document.text
            found = await self._checker.call(Lane.COMPUTE, CheckService.check, *arguments)
        if opened.document is not document:
            return False
        opened.errors = list(problems(found, document, opened.file))
        self._publish(opened)
        return not found

    async def _analyse(self, opened: OpenDocument, document: Document) -> None:
        """Propagate the shardings of a version, unless there is a newer one."""
        async with self._analysing:
            if opened.document is not document:
                return
            arguments = opened.uri, opened.file, document.text, document.version
            found = await self.analyser.call(Lane.COMPUTE, AnalysisService.analyse, *arguments)
            opened.analysed = document
            opened.warnings = list(problems(found, document, opened.file))
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
                found = await self._adviser.call(Lane.COMPUTE, AdviceService.advice, *arguments)
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
