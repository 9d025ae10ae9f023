"""`sdy lsp --load`: the processes that check and analyse a text know the dialects of users."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

DIALECT = Path(__file__).parent / "own_dialect.py"
TEXT = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = "halves.halve"(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[sys.executable, "-m", "sdy", "lsp", f"--load={DIALECT}"]),
    scope="module",
    loop_scope="module",
)
async def loading_client(lsp_client: LanguageClient) -> AsyncGenerator[None, None]:
    """A client whose server has loaded a dialect."""
    await lsp_client.initialize_session(types.InitializeParams(capabilities=client_capabilities("visual-studio-code")))
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio(loop_scope="module")
async def test_ops_of_a_loaded_dialect_are_checked_and_propagated(loading_client: LanguageClient) -> None:
    uri = "file:///own.mlir"
    document = types.TextDocumentItem(uri, "mlir", 1, TEXT)
    loading_client.text_document_did_open(types.DidOpenTextDocumentParams(document))
    params = types.InlayHintParams(
        types.TextDocumentIdentifier(uri), types.Range(types.Position(0, 0), types.Position(4, 0))
    )
    async with asyncio.timeout(30):
        while not (hints := await loading_client.text_document_inlay_hint_async(params)):
            await asyncio.sleep(0.05)
    assert [(each.position.line, each.label) for each in hints] == [(2, '[{"x"}]')]
    assert list(loading_client.diagnostics.get(uri, ())) == []
