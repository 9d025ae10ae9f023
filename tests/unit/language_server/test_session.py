"""A session: of several versions, only the newest one is computed and shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from sdy.language_server.session import OpenDocument, Session
from sdy.language_server.text.document import Document

URI, FILE = "file:///program.mlir", "/program.mlir"
VALID = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.tanh %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
INVALID = VALID.replace("tanh", "tahn")


class Shown:
    """The versions and codes that were shown, in order."""

    def __init__(self) -> None:
        self.problems: list[tuple[int, list[str]]] = []
        self.analyses = 0

    def publish(self, opened: OpenDocument) -> None:
        self.problems.append((opened.document.version, [each.code for each in opened.problems()]))

    def analysed(self) -> None:
        self.analyses += 1


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.02)


@pytest.mark.asyncio
async def test_versions_that_wait_are_dropped() -> None:
    shown = Shown()
    session = Session(shown.publish, shown.analysed)
    texts = [VALID, INVALID, VALID, INVALID]
    changes = [session.change(URI, FILE, Document(text, version)) for version, text in enumerate(texts)]
    await asyncio.wait_for(asyncio.gather(*changes), 30)
    assert shown.problems == [(3, ["SDY-P002"])]
    assert shown.analyses == 0
    session.stop()


@pytest.mark.asyncio
async def test_a_change_ends_the_lint_and_a_closed_document_is_forgotten() -> None:
    shown = Shown()
    session = Session(shown.publish, shown.analysed)
    first = asyncio.create_task(session.change(URI, FILE, Document(VALID, 1)))
    await until(lambda: shown.analyses == 1)
    await until(lambda: session.is_linting)
    await session.change(URI, FILE, Document(INVALID, 2))
    await asyncio.wait_for(first, 30)
    opened = session.document(URI)
    assert opened is not None
    assert opened.advised is None
    assert shown.problems[-1] == (2, ["SDY-P002"])
    assert opened.analysed is not None
    assert opened.analysed.version == 1
    await session.close(URI)
    assert session.document(URI) is None
    session.stop()
