"""The language server: maps the requests and notifications of an editor to the session, with pygls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lsprotocol import types
from pygls.lsp.server import LanguageServer

import sdy
from sdy.language_server.diagnostics import Problem
from sdy.language_server.document import Document
from sdy.language_server.protocol import Converter
from sdy.language_server.session import OpenDocument, Session


class SdyLanguageServer(LanguageServer):
    """A server of one editor, over standard input and output."""

    def __init__(self) -> None:
        super().__init__("sdy", sdy.__version__)
        self.session = Session(self.publish, self.refresh_hints)

    def converter(self, opened: OpenDocument) -> Converter:
        """Return the conversion of positions in the newest version of a document."""
        return Converter(self.workspace.position_codec, opened.document)

    def publish(self, opened: OpenDocument, problems: Sequence[Problem]) -> None:
        """Send the problems of a document to the editor."""
        converter = self.converter(opened)
        diagnostics = [converter.diagnostic(each, opened.uri) for each in problems]
        params = types.PublishDiagnosticsParams(opened.uri, diagnostics, opened.document.version)
        self.text_document_publish_diagnostics(params)

    def refresh_hints(self) -> None:
        """Ask the editor to request inlay hints again, if it can."""
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    async def update(self, uri: str) -> None:
        """Find what is wrong with a document after a change."""
        document = self.workspace.get_text_document(uri)
        text = document.source.replace("\r\n", "\n")
        await self.session.change(uri, document.path, Document(text, document.version or 0))

    def shutdown(self) -> None:
        """End the session."""
        self.session.stop()
        super().shutdown()


async def _did_open(ls: SdyLanguageServer, params: types.DidOpenTextDocumentParams) -> None:
    await ls.update(params.text_document.uri)


async def _did_change(ls: SdyLanguageServer, params: types.DidChangeTextDocumentParams) -> None:
    await ls.update(params.text_document.uri)


async def _did_close(ls: SdyLanguageServer, params: types.DidCloseTextDocumentParams) -> None:
    await ls.session.close(params.text_document.uri)


async def _hover(ls: SdyLanguageServer, params: types.HoverParams) -> types.Hover | None:
    opened = ls.session.document(params.text_document.uri)
    if opened is None:
        return None
    converter = ls.converter(opened)
    found = await ls.session.hover(opened.uri, converter.position(params.position))
    if found is None:
        return None
    text = types.MarkupContent(types.MarkupKind.Markdown, found.text)
    return types.Hover(text, converter.extent(found.token.start, found.token.end))


def _definition(ls: SdyLanguageServer, params: types.DefinitionParams) -> types.Location | None:
    opened = ls.session.document(params.text_document.uri)
    if opened is None:
        return None
    converter = ls.converter(opened)
    found = opened.names.definition(converter.offset(params.position))
    return None if found is None else types.Location(opened.uri, converter.extent(*found))


def _references(ls: SdyLanguageServer, params: types.ReferenceParams) -> list[types.Location]:
    opened = ls.session.document(params.text_document.uri)
    if opened is None:
        return []
    converter = ls.converter(opened)
    offset = converter.offset(params.position)
    found = opened.names.occurrences(offset)
    if not params.context.include_declaration:
        definition = opened.names.definition(offset)
        found = [each for each in found if each != definition]
    return [types.Location(opened.uri, converter.extent(*each)) for each in found]


FEATURES: dict[str, Callable[..., object]] = {
    types.TEXT_DOCUMENT_DID_OPEN: _did_open,
    types.TEXT_DOCUMENT_DID_CHANGE: _did_change,
    types.TEXT_DOCUMENT_DID_CLOSE: _did_close,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_DEFINITION: _definition,
    types.TEXT_DOCUMENT_REFERENCES: _references,
}


def make_server() -> SdyLanguageServer:
    """Return a server; its `start_io` answers an editor until that ends the connection."""
    server = SdyLanguageServer()
    for method, handler in FEATURES.items():
        server.feature(method)(handler)
    return server
