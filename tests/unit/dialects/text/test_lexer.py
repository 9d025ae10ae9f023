from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from sdy.dialects.text.token_parser import LazyTokenState, RegexLexer

FILE_TESTS = sorted((Path(__file__).parents[2] / "filecheck").rglob("*.mlir"))
ODD_TEXTS = [
    "0x1F 0xi32 1.0e-5 1. 12 -3 - ->",
    '"a\\00\\FFb" "quote\\22" "tab\\t" ""',
    '@name @"quoted name" #alias !type ^bb0 %0#1 %a-b.c$',
    "{-# #-} ... :: | * ? / +",
    "// a comment\n  a // another\n\t\r\n b",
]


def tokens(lexer: MLIRLexer) -> list[tuple[MLIRTokenKind, str]]:
    found: list[tuple[MLIRTokenKind, str]] = []
    while not found or found[-1][0] is not MLIRTokenKind.EOF:
        token = lexer.lex()
        found.append((token.kind, token.text))
    return found


@pytest.mark.parametrize("text", [*ODD_TEXTS, *(path.read_text() for path in FILE_TESTS)])
def test_tokens_match_xdsl(text: str) -> None:
    assert tokens(RegexLexer(Input(text, "f"))) == tokens(MLIRLexer(Input(text, "f")))


@pytest.mark.parametrize(
    ("text", "start", "words"),
    [
        ("a ² b", 2, "unexpected character"),
        ("x = é", 4, "unexpected character"),
        ('a "never closed', 2, "expected a string that ends on its line"),
        ('@"open', 0, "expected a string that ends on its line"),
        ('"bad \\q escape"', 0, "escape"),
        ("%", 0, "expected a name after"),
        ("@ f", 0, "expected a name after"),
        ("..", 0, "expected a name after"),
        ("\x00", 0, "unexpected character"),
        ("1" * 2000, 0, "at most 1000 digits"),
    ],
)
def test_invalid_tokens_are_errors_at_their_location(text: str, start: int, words: str) -> None:
    with pytest.raises(ParseError, match=words) as caught:
        tokens(RegexLexer(Input(text, "f")))
    assert caught.value.span.start == start


def test_blanks_before_a_bad_character_are_lexed_in_linear_time() -> None:
    with pytest.raises(ParseError):
        RegexLexer(Input(" \n" * 5000 + "²", "f")).lex()


def test_the_token_state_lexes_on_demand() -> None:
    lexer = RegexLexer(Input("a b", "f"))
    state = LazyTokenState(lexer)
    assert lexer.pos == 0
    assert state.current_token.text == "a"
    assert lexer.pos == 1
