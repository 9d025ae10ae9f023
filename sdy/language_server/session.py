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
from sdy.language_server.open_document import Finding, OpenDocument
from sdy.language_server.services import AdviceService, AnalysisService, CheckService
from sdy.language_server.text.document import Document
from sdy.language_server.text.navigation import Names
from sdy.language_server.worker import Worker, WorkerStoppedError

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
