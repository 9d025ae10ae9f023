"""Conversions between the language server protocol and positions, problems and offsets of documents."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types
from pygls.workspace import PositionCodec, ServerTextPosition, ServerTextRange

from sdy.advice.lint.annotated_text import Replacement
from sdy.diagnostics.diagnostic import Severity
from sdy.language_server.analysis.analysed_text import Hint
from sdy.language_server.diagnostics import Location, Problem
from sdy.language_server.text.completion import Completion, CompletionKind
from sdy.language_server.text.document import Document, Position

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.REMARK: types.DiagnosticSeverity.Information,
    Severity.NOTE: types.DiagnosticSeverity.Hint,
}
_COMPLETIONS = {
    CompletionKind.OP: types.CompletionItemKind.Function,
    CompletionKind.MESH: types.CompletionItemKind.Module,
    CompletionKind.FUNCTION: types.CompletionItemKind.Reference,
    CompletionKind.AXIS: types.CompletionItemKind.EnumMember,
}


class Converter:
    """Converts positions of one document; the editor may count the units of UTF-16, and check versions of edits."""

    def __init__(self, codec: PositionCodec, document: Document, *, are_edits_versioned: bool = False) -> None:
        self._are_edits_versioned = are_edits_versioned
        self._codec = codec
        self._document = document

    def position(self, position: types.Position) -> Position:
        """Return a position of the editor as one of the document."""
        found = self._codec.position_from_client_units(self._document.lines, position)
        return Position(found.line, found.character)

    def offset(self, position: types.Position) -> int:
        """Return a position of the editor as an offset."""
        return self._document.offset(self.position(position))

    def range(self, start: Position, end: Position) -> types.Range:
        """Return the range between two positions of the document."""
        found = ServerTextRange(ServerTextPosition(*start), ServerTextPosition(*end))
        return self._codec.range_to_client_units(self._document.lines, found)

    def extent(self, start: int, end: int) -> types.Range:
        """Return the range between two offsets."""
        return self.range(self._document.position(start), self._document.position(end))

    def diagnostic(self, problem: Problem, uri: str) -> types.Diagnostic:
        """Return a problem of the document at `uri` as the editor shows it."""
        related = [
            types.DiagnosticRelatedInformation(types.Location(uri, self._location(each)), each.message)
            for each in problem.related
        ]
        return types.Diagnostic(
            self._location(problem.location),
            problem.location.message,
            _SEVERITIES[problem.severity],
            problem.code,
            None if problem.page is None else types.CodeDescription(problem.page),
            "sdy",
            related_information=related or None,
        )

    def hint(self, hint: Hint) -> types.InlayHint:
        """Return an inlay hint."""
        position = self.range(hint.position, hint.position).start
        return types.InlayHint(position, hint.label, types.InlayHintKind.Type, tooltip=hint.tooltip, padding_left=True)

    def completion(self, completion: Completion) -> types.CompletionItem:
        """Return a completion."""
        edit = types.TextEdit(self.extent(completion.start, completion.end), completion.text)
        return types.CompletionItem(
            completion.text,
            kind=_COMPLETIONS[completion.kind],
            detail=completion.detail,
            filter_text=completion.text,
            text_edit=edit,
        )

    def edit(self, uri: str, replacements: Iterable[Replacement]) -> types.WorkspaceEdit:
        """Return an edit of the document at `uri`."""
        edits = [types.TextEdit(self.extent(start, end), text) for start, end, text in replacements]
        if not self._are_edits_versioned:
            return types.WorkspaceEdit(changes={uri: edits})
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri, self._document.version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, edits)])

    def _location(self, location: Location) -> types.Range:
        return self.range(location.start, location.end)
