"""The language server: maps the requests and notifications of an editor to a session, with pygls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from inspect import isawaitable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeVar, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

import sdy
from sdy.advice.lint.annotated_text import Replacement
from sdy.diagnostics.diagnostic import SdyError
from sdy.language_server import session
from sdy.language_server.protocol import Converter
from sdy.language_server.session import OpenDocument, Session
from sdy.language_server.text.completion import completions
from sdy.language_server.text.document import Document

SHOW_LOCAL_PROGRAM = "sdy.showLocalProgram"
KINDS = (types.CodeActionKind.QuickFix, types.CodeActionKind.Source)


def _code_actions(
    opened: OpenDocument, converter: Converter, params: types.CodeActionParams
) -> Iterator[types.CodeAction]:
    """Yield the actions for a range of a document."""
    if _is_wanted(types.CodeActionKind.QuickFix, params.context):
        for finding in opened.current_findings():
            diagnostic = converter.diagnostic(finding.problem, opened.uri)
            if finding.remedy is not None and _overlap(diagnostic.range, params.range):
                edit = converter.edit(opened.uri, finding.remedy.edits)
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


class _OfDocument(Protocol):
    """The parameters of a request about a document."""

    text_document: types.TextDocumentIdentifier


ParamsT = TypeVar("ParamsT", bound=_OfDocument)
TRIGGERS = ("@", '"', "{", ".", ":", "(")  # characters after which an editor asks for completions


class SdyLanguageServer(LanguageServer):
    """A server of one editor, over standard input and output; see `Session` for the arguments."""

    def __init__(self, machine: str | None = None, prepare: Callable[[], None] | None = None) -> None:
        super().__init__("sdy", sdy.__version__)
        self.session = Session(self.publish, self.refresh_hints, machine, prepare)

    @cached_property
    def local_programs(self) -> TemporaryDirectory[str]:
        """The folder of the local programs that the editor shows, which is removed at the end of the session."""
        return TemporaryDirectory(prefix="sdy-lsp-")

    def converter(self, opened: OpenDocument) -> Converter:
        """Return the conversion of positions in the newest version of a document."""
        workspace = self.client_capabilities.workspace
        edit = None if workspace is None else workspace.workspace_edit
        is_versioned = edit is not None and bool(edit.document_changes)
        return Converter(self.workspace.position_codec, opened.document, are_edits_versioned=is_versioned)

    def publish(self, opened: OpenDocument) -> None:
        """Send the problems of a document to the editor."""
        converter = self.converter(opened)
        diagnostics = [converter.diagnostic(each, opened.uri) for each in opened.problems()]
        params = types.PublishDiagnosticsParams(opened.uri, diagnostics, opened.document.version)
        self.text_document_publish_diagnostics(params)

    def refresh_hints(self) -> None:
        """Let the editor ask for inlay hints again, if it can."""
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    async def update(self, uri: str) -> None:
        """Find what is wrong with a document after a change."""
        document = self.workspace.get_text_document(uri)
        text = document.source.replace("\r\n", "\n")
        await self.session.change(uri, document.path, Document(text, document.version or 0))

    def show(self, uri: str) -> None:
        """Let the editor show a file, if it can."""
        window = self.client_capabilities.window
        if window is not None and window.show_document is not None and window.show_document.support:
            self.window_show_document(types.ShowDocumentParams(uri, take_focus=True))

    def shutdown(self) -> None:
        """End the session."""
        self.session.stop()
        if "local_programs" in vars(self):
            self.local_programs.cleanup()
        super().shutdown()


async def _did_open(ls: SdyLanguageServer, params: types.DidOpenTextDocumentParams) -> None:
    await ls.update(params.text_document.uri)


async def _did_change(ls: SdyLanguageServer, params: types.DidChangeTextDocumentParams) -> None:
    await ls.update(params.text_document.uri)


async def _did_close(ls: SdyLanguageServer, params: types.DidCloseTextDocumentParams) -> None:
    await ls.session.close(params.text_document.uri)


def _of_document(answer: Callable[[OpenDocument, Converter, ParamsT], object]) -> Callable[..., object]:
    """Return a handler that answers requests about an open document; None about others."""

    async def handler(ls: SdyLanguageServer, params: ParamsT) -> object:
        opened = ls.session.document(params.text_document.uri)
        answered = None if opened is None else answer(opened, ls.converter(opened), params)
        answered = await answered if isawaitable(answered) else answered
        return list(cast("Iterator[object]", answered)) if isinstance(answered, Iterator) else answered

    return handler


async def _hover(opened: OpenDocument, converter: Converter, params: types.HoverParams) -> types.Hover | None:
    hover = await session.hover(opened, converter.offset(params.position))
    if hover is None:
        return None
    text = types.MarkupContent(types.MarkupKind.Markdown, hover.text)
    return types.Hover(text, converter.extent(hover.token.start, hover.token.end))


async def _inlay_hints(
    opened: OpenDocument, converter: Converter, params: types.InlayHintParams
) -> list[types.InlayHint]:
    hints = await session.inlay_hints(opened, params.range.start.line, params.range.end.line)
    return [converter.hint(each) for each in hints]


def _completion(
    opened: OpenDocument, converter: Converter, params: types.CompletionParams
) -> list[types.CompletionItem]:
    offset = converter.offset(params.position)
    return [converter.completion(each) for each in completions(opened.names, offset)]


def _definition(opened: OpenDocument, converter: Converter, params: types.DefinitionParams) -> types.Location | None:
    definition = opened.names.definition(converter.offset(params.position))
    return None if definition is None else types.Location(opened.uri, converter.extent(*definition))


def _references(opened: OpenDocument, converter: Converter, params: types.ReferenceParams) -> list[types.Location]:
    offset = converter.offset(params.position)
    excluded = None if params.context.include_declaration else opened.names.definition(offset)
    occurrences = opened.names.occurrences(offset)
    return [types.Location(opened.uri, converter.extent(*each)) for each in occurrences if each != excluded]


def _highlights(
    opened: OpenDocument, converter: Converter, params: types.DocumentHighlightParams
) -> list[types.DocumentHighlight]:
    offset = converter.offset(params.position)
    definition = opened.names.definition(offset)
    kinds = types.DocumentHighlightKind.Read, types.DocumentHighlightKind.Write
    return [
        types.DocumentHighlight(converter.extent(*each), kinds[each == definition])
        for each in opened.names.occurrences(offset)
    ]


def _rename(opened: OpenDocument, converter: Converter, params: types.RenameParams) -> types.WorkspaceEdit | None:
    offset = converter.offset(params.position)
    name = opened.names.renamed(offset, params.new_name)
    if name is None:
        raise JsonRpcInvalidParams(f"expected a name that is not taken, got {params.new_name!r}")
    replacements = (Replacement(*each, name) for each in opened.names.occurrences(offset))
    return converter.edit(opened.uri, replacements)


def _document_symbols(
    opened: OpenDocument, converter: Converter, params: types.DocumentSymbolParams
) -> Iterator[types.DocumentSymbol]:
    names = opened.names
    for mesh in names.symbols.meshes.values():
        extent = converter.extent(mesh.start, names.document.line_end(mesh.start))
        axes = [
            types.DocumentSymbol(axis.name, types.SymbolKind.EnumMember, each, each, str(axis.size))
            for axis in mesh.axes
            for each in [converter.extent(axis.start, axis.start + len(axis.name) + 2)]
        ]
        name = converter.extent(mesh.start, mesh.start + len(mesh.name) + 1)
        yield types.DocumentSymbol(f"@{mesh.name}", types.SymbolKind.Module, extent, name, children=axes)
    functions = list(names.symbols.functions.values())
    ends = [*(each.start for each in functions[1:]), len(names.document.text)]
    for function, last in zip(functions, ends, strict=True):
        end = names.scopes.end_of_body(function.start, last) or names.document.line_end(function.start)
        extent = converter.extent(function.start, end)
        name = converter.extent(function.start, function.start + len(function.name) + 1)
        yield types.DocumentSymbol(f"@{function.name}", types.SymbolKind.Function, extent, name)


async def _show_local_program(ls: SdyLanguageServer, uri: str) -> dict[str, str] | None:
    """Show the program of one device beside the document, and return the URI of the file that holds it."""
    try:
        text = await ls.session.local_program(uri)
    except SdyError as error:
        ls.window_show_message(types.ShowMessageParams(types.MessageType.Error, str(error)))
        return None
    opened = ls.session.document(uri)
    if text is None or opened is None:
        return None
    path = Path(ls.local_programs.name) / f"{Path(opened.file).stem}.local.mlir"
    path.write_text(text, encoding="utf-8")
    ls.show(path.as_uri())
    return {"uri": path.as_uri()}


FEATURES: dict[str, tuple[Callable[..., object], object]] = {
    types.TEXT_DOCUMENT_DID_OPEN: (_did_open, None),
    types.TEXT_DOCUMENT_DID_CHANGE: (_did_change, None),
    types.TEXT_DOCUMENT_DID_CLOSE: (_did_close, None),
    types.TEXT_DOCUMENT_HOVER: (_of_document(_hover), None),
    types.TEXT_DOCUMENT_INLAY_HINT: (_of_document(_inlay_hints), None),
    types.TEXT_DOCUMENT_COMPLETION: (_of_document(_completion), types.CompletionOptions(trigger_characters=TRIGGERS)),
    types.TEXT_DOCUMENT_DEFINITION: (_of_document(_definition), None),
    types.TEXT_DOCUMENT_REFERENCES: (_of_document(_references), None),
    types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: (_of_document(_highlights), None),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (_of_document(_document_symbols), None),
    types.TEXT_DOCUMENT_RENAME: (_of_document(_rename), None),
    types.TEXT_DOCUMENT_CODE_ACTION: (
        _of_document(_code_actions),
        types.CodeActionOptions(KINDS),
    ),
}


def make_server(machine: str | None = None, prepare: Callable[[], None] | None = None) -> SdyLanguageServer:
    """Return a server; its `start_io` answers an editor until that ends the connection."""
    server = SdyLanguageServer(machine, prepare)
    for method, (handler, options) in FEATURES.items():
        server.feature(method, options)(handler)
    server.command(SHOW_LOCAL_PROGRAM)(_show_local_program)
    return server
