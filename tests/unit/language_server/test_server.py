"""`sdy lsp` with a client: what an editor gets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import urlparse

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import LanguageClient
from support.lint_programs import program

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


def at(line: int, column: int) -> types.Position:
    return types.Position(line, column)


def change(
    client: LanguageClient, uri: str, version: int, start: types.Position, end: types.Position, new: str
) -> None:
    """Replace a range of a document."""
    identifier = types.VersionedTextDocumentIdentifier(version, uri)
    edit = types.TextDocumentContentChangePartial(types.Range(start, end), new)
    client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [edit]))


@pytest.mark.asyncio(loop_scope="module")
async def test_an_error_names_the_other_location(client: LanguageClient) -> None:
    uri = opened(client, PROGRAM + 'sdy.mesh @mesh = <["x"=4]>\n')
    (error,) = await diagnostics(client, uri, 1)
    assert error.code == "SDY-D102"
    assert error.range.start == at(6, 0)
    assert error.related_information is not None
    (related,) = error.related_information
    assert related.message == "the first definition is here"
    assert (related.location.uri, related.location.range) == (uri, types.Range(at(0, 0), at(0, 8)))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_text_that_does_not_parse_keeps_its_hovers_definitions_and_hints(client: LanguageClient) -> None:
    uri = opened(client, PROGRAM)
    before = await hover(client, uri, 3, 22)
    change(client, uri, 2, at(2, 0), at(2, 0), "  %new = stablehlo.ta\n")
    (error,) = await diagnostics(client, uri, 1)
    assert error.code == "SDY-P002"
    assert await hover(client, uri, 4, 22) == before
    document = types.TextDocumentIdentifier(uri)
    definition = await client.text_document_definition_async(types.DefinitionParams(document, at(4, 22)))
    assert definition == types.Location(uri, types.Range(at(3, 2), at(3, 4)))
    assert await hints(client, uri, 0, 6) == {(1, 91): "[{}, {}]", (3, 4): '[{"x"}, {}]', (4, 4): '[{"x"}, {}]'}
    change(client, uri, 3, at(2, 0), at(3, 0), "")
    assert await diagnostics(client, uri, 0) == []


async def hints(client: LanguageClient, uri: str, first: int, last: int) -> dict[tuple[int, int], object]:
    """Return the labels of the hints by their positions, as soon as there are any."""

    async def found() -> dict[tuple[int, int], object] | None:
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), types.Range(at(first, 0), at(last, 0)))
        known = await client.text_document_inlay_hint_async(params)
        return {(each.position.line, each.position.character): each.label for each in known or ()} or None

    return await eventually(found)


@pytest.mark.asyncio(loop_scope="module")
async def test_references_of_values_axes_and_meshes(client: LanguageClient) -> None:
    uri = opened(client, PROGRAM)

    async def lines(line: int, column: int, *, include_declaration: bool = True) -> list[int]:
        document, context = types.TextDocumentIdentifier(uri), types.ReferenceContext(include_declaration)
        params = types.ReferenceParams(context, document, at(line, column))
        return [each.range.start.line for each in await client.text_document_references_async(params) or ()]

    assert await lines(2, 3) == [2, 3]
    assert await lines(2, 3, include_declaration=False) == [3]
    assert await lines(0, 20) == [0, 1]
    assert await lines(0, 11) == [0, 1]


@pytest.mark.asyncio(loop_scope="module")
async def test_highlights_tell_definitions_from_uses(client: LanguageClient) -> None:
    uri = opened(client, PROGRAM)
    params = types.DocumentHighlightParams(types.TextDocumentIdentifier(uri), at(3, 21))
    found = await client.text_document_document_highlight_async(params)
    kinds = types.DocumentHighlightKind
    expected = [(types.Range(at(2, 2), at(2, 4)), kinds.Write), (types.Range(at(3, 21), at(3, 23)), kinds.Read)]
    assert [(each.range, each.kind) for each in found or ()] == expected


@pytest.mark.asyncio(loop_scope="module")
async def test_symbols_are_meshes_with_axes_and_functions_with_bodies(client: LanguageClient) -> None:
    uri = opened(client, PROGRAM + "func.func private @declared(tensor<4xf32>)\n")
    params = types.DocumentSymbolParams(types.TextDocumentIdentifier(uri))
    found = await client.text_document_document_symbol_async(params)
    symbols = {each.name: each for each in found or () if isinstance(each, types.DocumentSymbol)}
    assert list(symbols) == ["@mesh", "@main", "@declared"]
    axes = symbols["@mesh"].children or ()
    assert [(each.name, each.detail, each.range) for each in axes] == [
        ("x", "4", types.Range(at(0, 19), at(0, 22))),
        ("y", "2", types.Range(at(0, 26), at(0, 29))),
    ]
    assert symbols["@main"].range == types.Range(at(1, 10), at(5, 1))
    assert symbols["@declared"].range == types.Range(at(6, 18), at(6, 42))


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("position", "given", "written", "count"),
    [
        (types.Position(2, 3), "%hidden", "%hidden", 2),
        (types.Position(1, 17), "batch", "%batch", 2),
        (types.Position(0, 10), "devices", "@devices", 2),
        (types.Position(0, 20), "data", '"data"', 2),
        (types.Position(1, 11), "@step", "@step", 1),
    ],
)
async def test_a_new_name_replaces_all_uses(
    client: LanguageClient, position: types.Position, given: str, written: str, count: int
) -> None:
    uri = opened(client, PROGRAM)
    edit = await client.text_document_rename_async(
        types.RenameParams(types.TextDocumentIdentifier(uri), position, given)
    )
    assert edit is not None
    (changed,) = list(edit.document_changes or ())
    assert isinstance(changed, types.TextDocumentEdit)
    assert [each.new_text for each in changed.edits if isinstance(each, types.TextEdit)] == [written] * count


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", ["%1", "two words", "%", ""])
async def test_a_name_that_is_taken_or_malformed_is_refused(client: LanguageClient, name: str) -> None:
    uri = opened(client, PROGRAM)
    params = types.RenameParams(types.TextDocumentIdentifier(uri), at(2, 3), name)
    with pytest.raises(JsonRpcException, match="expected a name that is not taken"):
        await client.text_document_rename_async(params)


@pytest.mark.asyncio(loop_scope="module")
async def test_positions_count_the_units_of_the_editor(client: LanguageClient) -> None:
    line = '  %9 = "stablehlo.tanh"(%0) {a = "\U0001d53d"} : (tensor<8x16xf32>) -> tensor<8x16xf32> ,'
    uri = opened(client, PROGRAM.replace("  return", f"{line}\n  return"))
    (error,) = await diagnostics(client, uri, 1)
    column = len(line.encode("utf-16-le")) // 2
    assert error.range == types.Range(at(4, column - 1), at(4, column))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_fix_of_the_linter_is_an_edit_of_the_annotations(client: LanguageClient) -> None:
    text = program("""func.func @main(%a: T X0, %b: T X0) -> (T X0) {
  %0 = stablehlo.add %a, %b : T
  return %0 : T
}
""")
    uri = opened(client, text)
    findings = await diagnostics(client, uri, 1)
    assert findings[0].severity is types.DiagnosticSeverity.Warning
    whole = types.Range(at(0, 0), at(9, 0))
    context = types.CodeActionContext(findings, only=[types.CodeActionKind.QuickFix])
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), whole, context)
    actions = await client.text_document_code_action_async(params) or ()
    (action,) = (each for each in actions if isinstance(each, types.CodeAction))
    assert action.title.startswith('annotate %a as [{"x", "y"}, {}]')
    assert action.is_preferred
    assert action.edit is not None
    assert action.edit.document_changes is not None
    (edits,) = (each for each in action.edit.document_changes if isinstance(each, types.TextDocumentEdit))
    assert edits.text_document == types.OptionalVersionedTextDocumentIdentifier(uri, 1)
    shardings = [edit.new_text.partition("<@m, ")[2] for edit in edits.edits if isinstance(edit, types.TextEdit)]
    assert shardings == ['[{"x", "y"}, {}]>'] * 3
    assert {edit.range.start.line for edit in edits.edits} == {1}


@pytest.mark.asyncio(loop_scope="module")
async def test_the_program_of_one_device_is_shown(client: LanguageClient) -> None:
    uri = opened(client, PROGRAM)
    params = types.ExecuteCommandParams("sdy.showLocalProgram", [uri])
    shown = cast("dict[str, str]", await client.workspace_execute_command_async(params))
    path = Path(urlparse(shown["uri"]).path)
    assert "stablehlo.tanh %arg0 : tensor<2x16xf32>" in path.read_text()
    assert client.shown_documents[-1].uri == shown["uri"]
