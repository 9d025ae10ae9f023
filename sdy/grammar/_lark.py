"""The Lark parser of the grammar: text to tree. Only this file touches Lark's untyped interfaces."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from sdy.grammar.errors import NotationError


class ParseNode(Tree[Token]):
    """A node of the syntax tree: one match of a grammar rule. Callers know from the grammar which children it has."""

    def token(self, index: int) -> Token:
        """Return the child at `index`, which must be a token."""
        child = self.children[index]
        assert isinstance(child, Token)
        return child

    def node(self, index: int) -> ParseNode:
        """Return the child at `index`, which must be a node."""
        child = self.children[index]
        assert isinstance(child, ParseNode)
        return child

    def has(self, index: int) -> bool:
        """Return whether the optional child at `index` is present."""
        return bool(cast("list[object]", self.children)[index] is not None)

    def tokens(self) -> list[Token]:
        """Return the children that are tokens."""
        return [child for child in self.children if isinstance(child, Token)]

    def nodes(self) -> list[ParseNode]:
        """Return the children that are nodes."""
        return [child for child in self.children if isinstance(child, ParseNode)]

    def extent(self) -> tuple[int, int]:
        """Return the offsets where the first token of the node begins and the last one ends, punctuation aside."""
        tokens = [token for token in self.scan_values(lambda value: isinstance(value, Token)) if token]
        return tokens[0].start_pos or 0, tokens[-1].end_pos or 0


_TERMINAL_NAMES = {
    "ALIAS": "an alias",
    "ANGLE_MESH": "`#sdy<mesh ...>`",
    "ANGLE_SHARDING": "`#sdy<sharding ...>`",
    "LONG_MESH": "`#sdy.mesh<...>`",
    "LONG_SHARDING": "`#sdy.sharding<...>`",
    "NODE_KIND": "`operand` or `result`",
    "NUMBER": "a number",
    "REDUCTION_KIND": "`sum`, `max` or `min`",
    "STRING": "a quoted name",
    "SYMBOL": "a mesh such as `@mesh`",
    "WORD": "an identifier",
    "$END": "the end",
}
_TRAILING_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*\Z")
_TOKEN = re.compile(r'[A-Za-z_@#][A-Za-z0-9_$.]*|0x[0-9A-Fa-f]+|[0-9]+|"(?:\\.|[^"\\\n])*"|->|.')


def parse_tree(rule: str, text: str, start_rules: tuple[str, ...]) -> ParseNode:
    """Parse `text`, which must match `rule`, one of `start_rules`, completely, to a tree.

    Raises: NotationError SDY-P101 at an unexpected token, SDY-P102 if the text ends too early.
    """
    parser = _parser(start_rules)
    try:
        return cast(ParseNode, parser.parse(text, start=rule))
    except UnexpectedToken as error:
        if error.token.type == "$END":
            hint = _hint(parser, rule, text)
            raise NotationError("SDY-P102", "unexpected end of text", len(text), hint=hint) from None
        raise _unexpected(parser, rule, text, cast(int, error.pos_in_stream)) from None
    except UnexpectedCharacters as error:
        raise _unexpected(parser, rule, text, cast(int, error.pos_in_stream)) from None


@cache
def _parser(start_rules: tuple[str, ...]) -> Lark:
    grammar = Path(__file__).with_name("sharding.lark").read_text(encoding="utf-8")
    return Lark(grammar, start=list(start_rules), parser="lalr", lexer="contextual", tree_class=ParseNode)


def _unexpected(parser: Lark, rule: str, text: str, offset: int) -> NotationError:
    hint: str | None = _hint(parser, rule, text)
    # The lexer reads a keyword followed by further letters as the keyword; the error is about the full identifier.
    if re.match(r"[A-Za-z0-9_$.]", text[offset:]) and (identifier := _TRAILING_IDENTIFIER.search(text[:offset])):
        offset, hint = identifier.start(), None
    found = _TOKEN.match(text, offset)
    end = offset + 1 if found is None else found.end()
    return NotationError("SDY-P101", f"unexpected `{text[offset:end]}`", offset, end, hint)


def _hint(parser: Lark, rule: str, text: str) -> str:
    """List the terminals that may come where parsing `text` stops.

    The errors of Lark list terminals that may follow the last symbol anywhere in the grammar.
    """
    interactive = parser.parse_interactive(text, start=rule)
    with suppress(UnexpectedToken, UnexpectedCharacters):
        interactive.exhaust_lexer()
    accepted = cast("set[str]", interactive.accepts())
    names = sorted(name for name in (_terminal_name(parser, each) for each in accepted) if name)
    return "expected " + (names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}")


def _terminal_name(parser: Lark, terminal: str) -> str:
    """Return the name of a terminal for messages; an empty string for whitespace and comments."""
    if terminal in _TERMINAL_NAMES:
        return _TERMINAL_NAMES[terminal]
    if terminal in ("COMMENT", "WS"):
        return ""
    return f"`{parser.get_terminal(terminal).pattern.value}`"
