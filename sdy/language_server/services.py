"""The services of the worker processes: what is computed about the open documents, which are named by their URI."""

from __future__ import annotations

from collections import OrderedDict

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.language_server import advice, hover, inlay_hints
from sdy.language_server.advice import Advice
from sdy.language_server.analysis import Analysis
from sdy.language_server.checked_text import CheckedText
from sdy.language_server.document import Position
from sdy.language_server.inlay_hints import Hint
from sdy.language_server.value_index import Definition

Key = tuple[str, int]  # the URI of a document, and the version of its text


class CheckService:
    """Finds the errors of texts."""

    def __init__(self) -> None:
        self._texts: dict[str, CheckedText] = {}

    def check(self, uri: str, file: str, text: str) -> tuple[Diagnostic, ...]:
        """Return the errors of a text."""
        if uri not in self._texts:
            self._texts[uri] = CheckedText(file)
        return tuple(self._texts[uri].check(text))

    def close(self, uri: str) -> None:
        """Forget a document."""
        self._texts.pop(uri, None)


class AnalysisService:
    """Propagates the shardings of programs, and answers questions about the last analyses of each.

    The one before the last is kept for questions that were asked before the last one was known.
    """

    def __init__(self) -> None:
        self._analyses: dict[str, OrderedDict[int, Analysis]] = {}

    def analyse(self, uri: str, file: str, text: str, version: int) -> tuple[Diagnostic, ...]:
        """Analyse a version of a document, and return what was found meanwhile.

        Raises: SdyError with the first error in the text.
        """
        analysis = Analysis(text, file)
        known = self._analyses.setdefault(uri, OrderedDict())
        known[version] = analysis
        if len(known) > 2:
            known.popitem(last=False)
        return tuple(analysis.problems)

    def close(self, uri: str) -> None:
        """Forget a document."""
        self._analyses.pop(uri, None)

    def value_hover(self, key: Key, definition: Definition) -> str | None:
        """Return the text about the values that are defined at a position of the analysed text."""
        analysis = self._analysis(key)
        return None if analysis is None else hover.value_hover(analysis, definition)

    def op_hover(self, key: Key, position: Position) -> str | None:
        """Return the text about the op whose name begins at a position of the analysed text."""
        analysis = self._analysis(key)
        op = None if analysis is None else analysis.op_at(position)
        return None if op is None else hover.op_hover(op)

    def symbol_hover(self, key: Key, name: str) -> str | None:
        """Return the text about the mesh or function with a name without `@`."""
        analysis = self._analysis(key)
        return None if analysis is None else hover.symbol_hover(analysis, name)

    def axis_hover(self, key: Key, axis: str, mesh: str | None) -> str | None:
        """Return the text about an axis of a mesh."""
        analysis = self._analysis(key)
        return None if analysis is None else hover.axis_hover(analysis, axis, mesh)

    def inlay_hints(self, key: Key, first: int, last: int) -> list[Hint]:
        """Return the hints on the lines of the analysed text from `first` to `last`."""
        analysis = self._analysis(key)
        return [] if analysis is None else list(inlay_hints.inlay_hints(analysis, first, last))

    def _analysis(self, key: Key) -> Analysis | None:
        uri, version = key
        return self._analyses.get(uri, OrderedDict[int, Analysis]()).get(version)


class AdviceService:
    """Partitions programs, which may take long."""

    def advice(self, text: str, file: str, machine: str | None) -> list[Advice]:
        """Return the findings of `sdy lint`; see `sdy.language_server.advice.advice`."""
        return advice.advice(text, file, machine)

    def local_program(self, text: str, file: str) -> str:
        """Return the text of the program of one device. Raises: SdyError if it cannot be partitioned."""
        return advice.local_program(text, file)
