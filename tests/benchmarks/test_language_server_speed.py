"""Measure how long an editor waits for hovers and errors in a program of 10,000 lines, with a client of `sdy lsp`."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from support.timing.medians import table

HOVER_MOST, ERRORS_MOST = 0.1, 1.0  # seconds
URI = "file:///llama32.mlir"
EDITS = 40


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[sys.executable, "-m", "sdy", "lsp"]))
async def client(lsp_client: LanguageClient) -> AsyncGenerator[None, None]:
    """A client whose server has been initialized."""
    await lsp_client.initialize_session(types.InitializeParams(capabilities=client_capabilities("visual-studio-code")))
    yield
    await lsp_client.shutdown_session()


def p95(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=20)[-1]


async def until(holds: Callable[[], bool]) -> float:
    """Wait until a condition holds, and return the seconds that it took."""
    start = time.perf_counter()
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.002)
    return time.perf_counter() - start


async def timed_hover(client: LanguageClient, line: int) -> tuple[float, types.Hover | None]:
    position = types.Position(line, 5)
    start = time.perf_counter()
    found = await client.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier(URI), position))
    return time.perf_counter() - start, found


class Editor:
    """A document that is typed in a client; each change waits for its diagnostics."""

    def __init__(self, client: LanguageClient, text: str) -> None:
        self._client = client
        self._version = 1
        self.lines = text.split("\n")
        client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "mlir", self._version, text))
        )

    async def replace(self, line: int, new: str, *, is_valid: bool) -> float:
        """Replace a line, and return the seconds until the client knows whether the text has errors."""
        self._version += 1
        edit = types.TextDocumentContentChangePartial(
            types.Range(types.Position(line, 0), types.Position(line, len(self.lines[line]))), new
        )
        self.lines[line] = new
        identifier = types.VersionedTextDocumentIdentifier(self._version, URI)
        self._client.diagnostics.pop(URI, None)
        self._client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [edit]))
        return await until(lambda: URI in self._client.diagnostics and self._is_valid() == is_valid)

    def _is_valid(self) -> bool:
        return all(each.severity is not types.DiagnosticSeverity.Error for each in self._client.diagnostics[URI])


@pytest.mark.benchmark
@pytest.mark.asyncio(loop_scope="module")
async def test_an_editor_does_not_wait(client: LanguageClient, llama: dict[int, Path]) -> None:
    editor = Editor(client, llama[32].read_text())
    first = await until(lambda: URI in client.diagnostics)
    analysed = await until_hover(client)
    lines = [number for number, line in enumerate(editor.lines) if " = stablehlo." in line]
    chosen = lines[:: len(lines) // EDITS][:EDITS]
    hovers = [(await timed_hover(client, line))[0] for line in chosen]
    broken: list[float] = []
    repaired: list[float] = []
    renamed: list[float] = []
    busy: list[float] = []
    for line in chosen:
        text = editor.lines[line]
        broken.append(await editor.replace(line, f"{text} )", is_valid=False))
        repaired.append(await editor.replace(line, f"{text} ", is_valid=True))
        await asyncio.sleep(0.4)  # so that shardings are being propagated when the next hover is asked for
        busy.append((await timed_hover(client, line))[0])
    for line in chosen[:10]:
        text = editor.lines[line]
        renamed.append(await editor.replace(line, text.replace("%", "%other_", 1), is_valid=False))
        await editor.replace(line, text, is_valid=True)
    rows = [
        (name, f"{statistics.median(each) * 1e3:.0f} ms", f"{p95(each) * 1e3:.0f} ms")
        for name, each in {
            "hover": hovers,
            "hover while shardings are propagated": busy,
            "errors after a change that breaks a line": broken,
            "errors after a change that repairs it": repaired,
            "errors after a definition is renamed: a full check": renamed,
        }.items()
    ]
    print(table("10,900 lines", ("answer", "median", "p95"), rows))
    print(f"first errors after {first:.1f} s, first hover {analysed:.1f} s later")
    assert max(p95(hovers), p95(busy)) <= HOVER_MOST
    assert max(p95(broken), p95(repaired), statistics.median(renamed)) <= ERRORS_MOST


async def until_hover(client: LanguageClient) -> float:
    """Wait until hovers are answered, and return the seconds that it took."""
    start = time.perf_counter()
    ask: Callable[[], Awaitable[tuple[float, types.Hover | None]]] = lambda: timed_hover(client, 5)  # noqa: E731
    async with asyncio.timeout(60):
        while (await ask())[1] is None:
            await asyncio.sleep(0.05)
    return time.perf_counter() - start
