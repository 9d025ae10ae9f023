"""`sdy lsp` with a client: what an editor gets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeVar

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient

T = TypeVar("T")
SECONDS = 30
_numbers = count()
X0 = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
PROGRAM = f"""sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x16xf32> {X0}, %w: tensor<16x16xf32>) -> tensor<8x16xf32> {{
  %0 = stablehlo.tanh %a : tensor<8x16xf32>
  %1 = stablehlo.dot %0, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}}
"""


def opened(client: LanguageClient, text: str) -> str:
    """Open a document with this text, and return its URI."""
    uri = f"file:///program{next(_numbers)}.mlir"
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "mlir", 1, text)))
    return uri


async def eventually(ask: Callable[[], Awaitable[T | None]]) -> T:
    """Return the first answer that is not None."""
    async with asyncio.timeout(SECONDS):
        while (answer := await ask()) is None:
            await asyncio.sleep(0.05)
        return answer


async def hover(client: LanguageClient, uri: str, line: int, column: int) -> str:
    params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, column))
    found = await eventually(lambda: client.text_document_hover_async(params))
    assert isinstance(found.contents, types.MarkupContent)
    return found.contents.value


async def diagnostics(client: LanguageClient, uri: str, count: int) -> list[types.Diagnostic]:
    """Return the diagnostics of a document as soon as there are this many."""

    async def found() -> list[types.Diagnostic] | None:
        known = client.diagnostics.get(uri)
        return None if known is None or len(known) != count else list(known)

    return await eventually(found)


@pytest.mark.asyncio(loop_scope="module")
async def test_hover_on_a_value_shows_notations_local_type_and_origin(client: LanguageClient) -> None:
    uri = opened(client, PROGRAM)
    text = await hover(client, uri, 3, 22)
    assert text.startswith("```mlir\n%0 : tensor<8x16xf32>\n```")
    assert 'sdy            <@mesh, [{"x"}, {}]>' in text
    assert "PartitionSpec  P('x', None)" in text
    assert "local          tensor<2x16xf32>, 128 bytes per device" in text
    assert 'line 2  %a: annotated [{"x"}, {}]' in text
    assert await hover(client, uri, 2, 3) == text


@pytest.mark.asyncio(loop_scope="module")
async def test_hover_on_names(client: LanguageClient) -> None:
    uri = opened(client, PROGRAM)
    assert "Sharding rule:\n\n```text\n<([i, k], [k, j])->([i, j])" in await hover(client, uri, 3, 10)
    assert "8 devices" in await hover(client, uri, 0, 12)
    assert await hover(client, uri, 0, 20) == 'axis `"x"` of `@mesh`: 4 of 8 devices'
    assert '%a  tensor<8x16xf32>  [{"x"}, {}]' in await hover(client, uri, 1, 14)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_error_has_its_code_hint_and_page(client: LanguageClient) -> None:
    uri = opened(client, PROGRAM.replace("stablehlo.tanh", "stablehlo.tahn"))
    (error,) = await diagnostics(client, uri, 1)
    assert error.code == "SDY-P002"
    assert error.severity is types.DiagnosticSeverity.Error
    assert "hint: did you mean stablehlo.tan" in error.message
    assert error.code_description is not None
    assert error.code_description.href.endswith("/reference/diagnostics/#sdy-p002")
    assert (error.range.start, error.range.end) == (types.Position(2, 7), types.Position(2, 21))
