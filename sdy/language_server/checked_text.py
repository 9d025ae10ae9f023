"""The errors of a text that changes again and again: most changes cost the lines that changed, not the whole text."""

from __future__ import annotations

from collections.abc import Sequence

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.module_text import make_context
from sdy.dialects.text.locating_parser import parse_text
from sdy.language_server.document import Document
from sdy.language_server.valid_text import ValidText


class CheckedText:
    """The texts of one file, one after another. The last one without errors is kept, to check the next ones faster."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._context = make_context()
        self._valid: ValidText | None = None
        self.full_checks = 0
        """How many texts were parsed and verified as a whole."""

    @garbage_collection_paused()
    def check(self, text: str) -> Sequence[Diagnostic]:
        """Return the errors of a text, the same that a parse and a verification of all of it find."""
        document = Document(text)
        errors = None if self._valid is None else self._valid.change(document)
        return self._check_all(document) if errors is None else errors

    def _check_all(self, document: Document) -> Sequence[Diagnostic]:
        self.full_checks += 1
        try:
            module, parser = parse_text(self._context, document.text, self._file)
            self._valid = ValidText(document, self._file, self._context, module, parser.attribute_aliases)
        except SdyError as error:
            return error.diagnostics
        return ()
