"""The actions that an editor offers: the fixes of `sdy lint`, and showing the program of one device."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from sdy.language_server.open_document import Finding, OpenDocument
from sdy.language_server.protocol import Converter

SHOW_LOCAL_PROGRAM = "sdy.showLocalProgram"
KINDS = (types.CodeActionKind.QuickFix, types.CodeActionKind.Source)


def code_actions(
    opened: OpenDocument, converter: Converter, params: types.CodeActionParams, *, are_edits_versioned: bool
) -> Iterator[types.CodeAction]:
    """Yield the actions for a range of a document. `are_edits_versioned` says whether the editor checks versions."""
    if _is_wanted(types.CodeActionKind.QuickFix, params.context):
        for finding in opened.current_findings():
            diagnostic = converter.diagnostic(finding.problem, opened.uri)
            if finding.remedy is not None and _overlap(diagnostic.range, params.range):
                edit = _edit(opened, finding, converter, are_edits_versioned)
                yield types.CodeAction(
                    finding.remedy.title,
                    types.CodeActionKind.QuickFix,
                    [diagnostic],
                    is_preferred=finding.remedy.is_safe,
                    edit=edit,
                )
    if _is_wanted(types.CodeActionKind.Source, params.context):
        title = "Show the program of one device"
        command = types.Command(title, SHOW_LOCAL_PROGRAM, arguments=[opened.uri])
        yield types.CodeAction(title, types.CodeActionKind.Source, command=command)


def _is_wanted(kind: types.CodeActionKind, context: types.CodeActionContext) -> bool:
    """Return whether an editor that asks for some kinds gets this one; without any, it gets all."""
    return not context.only or any(kind == each or kind.startswith(f"{each}.") for each in context.only)


def _overlap(one: types.Range, other: types.Range) -> bool:
    return one.start <= other.end and other.start <= one.end


def _edit(
    opened: OpenDocument, finding: Finding, converter: Converter, are_edits_versioned: bool
) -> types.WorkspaceEdit | None:
    if finding.remedy is None:
        return None
    edits = converter.edits(finding.remedy.edits)
    if not are_edits_versioned:
        return types.WorkspaceEdit(changes={opened.uri: edits})
    identifier = types.OptionalVersionedTextDocumentIdentifier(opened.uri, opened.document.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, edits)])
