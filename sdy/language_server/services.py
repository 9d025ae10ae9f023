"""The services of the worker processes: what is computed about open documents."""

from __future__ import annotations

import gc

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.language_server.analysis import analysed_text, hover
from sdy.language_server.analysis.analysed_text import Advice, AnalysedText, Hint
from sdy.language_server.checked_text import CheckedText
from sdy.language_server.text.document import Position
from sdy.language_server.text.value_index import Definition


class CheckService:
    """Finds the errors of texts, which are those of documents with a URI.

    Garbage is collected in pauses, as that takes half a second for a large program.
    """

    def __init__(self) -> None:
        gc.disable()
        self._texts: dict[str, CheckedText] = {}

    def check(self, uri: str, file: str, text: str) -> tuple[Diagnostic, ...]:
        """Return the errors of a text."""
        if uri not in self._texts:
            self._texts[uri] = CheckedText(file)
        return tuple(self._texts[uri].check(text))

    def prepare(self, uri: str) -> None:
        """Use a pause to prepare for the next check."""
        if uri in self._texts:
            self._texts[uri].prepare()

    def close(self, uri: str) -> None:
        """Forget a document."""
        self._texts.pop(uri, None)


class AnalysisService:
    """Propagates the shardings of one text, and answers questions about it.

    Another text needs another process, so that this one answers meanwhile. There is so little garbage that none is
    collected: that would take a second for a large program.
    """

    def __init__(self) -> None:
        gc.disable()
        self._analysed: AnalysedText | None = None

    def analyse(self, file: str, text: str) -> tuple[Diagnostic, ...]:
        """Analyse a text, and return what was found meanwhile. Raises: SdyError with the first error in the text."""
        self._analysed = AnalysedText(text, file)
        return tuple(self._analysed.problems)

    def value_hover(self, definition: Definition) -> str | None:
        """Return the text about the values that are defined at a position."""
        return hover.value_hover(self._text, definition)

    def op_hover(self, position: Position) -> str | None:
        """Return the text about the op whose name begins at a position."""
        op = self._text.op_at(position)
        return None if op is None else hover.op_hover(op)

    def symbol_hover(self, name: str) -> str | None:
        """Return the text about the mesh or function with a name without `@`."""
        return hover.symbol_hover(self._text, name)

    def axis_hover(self, axis: str, mesh: str | None) -> str | None:
        """Return the text about an axis of a mesh."""
        return hover.axis_hover(self._text, axis, mesh)

    def inlay_hints(self, first: int, last: int) -> list[Hint]:
        """Return the hints on the lines from `first` to `last`."""
        return list(analysed_text.inlay_hints(self._text, first, last))

    @property
    def _text(self) -> AnalysedText:
        assert self._analysed is not None  # questions are asked after the analysis
        return self._analysed


class AdviceService:
    """Partitions programs, which may take long."""

    def advice(self, text: str, file: str, machine: str | None) -> list[Advice]:
        """Return the findings of `sdy lint`; see `sdy.language_server.analysis.analysed_text.advice`."""
        return analysed_text.advice(text, file, machine)

    def local_program(self, text: str, file: str) -> str:
        """Return the text of the program of one device. Raises: SdyError if it cannot be partitioned."""
        return analysed_text.local_program(text, file)
