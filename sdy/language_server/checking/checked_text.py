"""The errors of a text that changes again and again: most changes cost the lines that changed, not the whole text."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.module_text import make_context
from sdy.dialects.text.locating_parser import parse_text
from sdy.dialects.verification.verify_module import verify_module
from sdy.language_server.checking.valid_text import ValidText
from sdy.language_server.text.document import Document


class CheckedText:
    """The texts of one file, one after another. The last one without errors is kept, to check the next ones faster."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._context = make_context()
        self._valid: ValidText | None = None
        self._make_valid: Callable[[], ValidText] | None = None  # of a text that was checked as a whole
        self._garbage = 0  # the number of modules that are not used any more
        self.full_checks = 0
        """The number of texts that were parsed and verified in full."""

    @garbage_collection_paused()
    def check(self, text: str) -> Sequence[Diagnostic]:
        """Return the errors of a text, the same that a parse and a verification of all of it find."""
        document = Document(text)
        valid = self._prepared()
        errors = None if valid is None else valid.change(document)
        return self._check_all(document) if errors is None else errors

    def prepare(self) -> None:
        """Use a pause to do what the next check would have to do: index a new text, collect garbage."""
        self._prepared()
        if self._garbage:
            self._garbage = 0
            gc.collect()

    def _prepared(self) -> ValidText | None:
        """Return the last text without errors."""
        if self._make_valid is not None:
            self._valid, self._make_valid = self._make_valid(), None
        return self._valid

    def _check_all(self, document: Document) -> Sequence[Diagnostic]:
        self.full_checks += 1
        self._garbage += 1
        try:
            module, parser = parse_text(self._context, document.text, self._file)
            verify_module(module)
        except SdyError as error:
            return error.diagnostics
        aliases = parser.attribute_aliases
        self._make_valid = lambda: ValidText(document, self._file, self._context, module, aliases)
        return ()
