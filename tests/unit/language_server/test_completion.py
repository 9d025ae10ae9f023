"""Completions at a position, which is marked as | in a text."""

from __future__ import annotations

import pytest

from sdy.language_server.text.completion import completions
from sdy.language_server.text.document import Document
from sdy.language_server.text.navigation import Names

HEAD = """sdy.mesh @small = <["x"=2]>
sdy.mesh @mesh = <["x"=4, "y"=8]>
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32>
"""


def completed(line: str) -> list[str]:
    """Return the line of each completion, with the completion in it."""
    text = HEAD + line
    offset = text.index("|", len(HEAD))
    text = text.replace("|", "")
    found = completions(Names(Document(text)), offset)
    return [(text[: each.start] + each.text + text[each.end :]).removeprefix(HEAD) for each in found]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#sdy.sharding<@|", ["#sdy.sharding<@small", "#sdy.sharding<@mesh"]),
        ("#sdy.sharding<@me|, [{}]>", ["#sdy.sharding<@small, [{}]>", "#sdy.sharding<@mesh, [{}]>"]),
        ("%0 = call @|", ["%0 = call @f"]),
        ("#sdy.sharding<@mesh, [{|}]>", ['#sdy.sharding<@mesh, [{"x"}]>', '#sdy.sharding<@mesh, [{"y"}]>']),
        ('#sdy.sharding<@mesh, [{"|"}]>', ['#sdy.sharding<@mesh, [{"x"}]>', '#sdy.sharding<@mesh, [{"y"}]>']),
        ('#sdy.sharding<@mesh, [{"x", |}]>', ['#sdy.sharding<@mesh, [{"x", "y"}]>']),
        ("#sdy.sharding<@small, [{|", ['#sdy.sharding<@small, [{"x"']),
        ('<@mesh, [{"x":|}]>', ['<@mesh, [{"x":(1)2}]>', '<@mesh, [{"x":(2)2}]>']),
        ("<@mesh, [{}]> : tensor<8x|", []),
        ('out_sharding=<@small, [{"x"}]> {a = |', []),
        ("  %0 = stablehlo.tanh %|", []),
        ("  %0 = |", []),
    ],
)
def test_symbols_and_axes(line: str, expected: list[str]) -> None:
    assert completed(line) == expected


def test_ops_have_their_names_and_their_meaning() -> None:
    found = completed("  %0 = stablehlo.ta|")
    assert "  %0 = stablehlo.tanh" in found
    assert "  %0 = sdy.reshard" in found
    assert "  return" in completed("  r|")
    assert '  %0 = "stablehlo.tanh"(' in completed('  %0 = "stab|"(')
    assert "  return" not in completed('  "r|')
    names = Names(Document("sta"))
    tanh = next(each for each in completions(names, 3) if each.text == "stablehlo.tanh")
    assert tanh.detail
