"""A client that talks to `sdy lsp` over standard input and output, as an editor does."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator

import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[sys.executable, "-m", "sdy", "lsp"]), scope="module", loop_scope="module"
)
async def client(lsp_client: LanguageClient) -> AsyncGenerator[None, None]:
    """A client whose server has been initialized."""
    params = types.InitializeParams(capabilities=client_capabilities("visual-studio-code"))
    await lsp_client.initialize_session(params)
    yield
    await lsp_client.shutdown_session()
