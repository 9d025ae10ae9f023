"""The Lark parser of the grammar: text to tree. Only this file touches Lark's untyped interfaces."""

from __future__ import annotations

import re
from collections.abc import Iterable
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


START_RULES = (
    "all_to_all_param",
    "all_to_all_params",
    "axes_per_dim",
    "axis_flow",
    "axis_list",
    "axis_ref",
    "dim_sharding",
    "manual_axes",
    "mesh",
    "mesh_axis",
    "op_sharding_rule",
    "propagation_edges",
    "propagation_step",
    "sharding_list",
    "sharding_per_value",
    "sub_axis",
    "tensor_mapping",
    "tensor_sharding",
)

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


def parse_tree(rule: str, text: str) -> ParseNode:
    """Parse `text`, which must match `rule` completely, to a tree.

    Raises: NotationError SDY-P101 at an unexpected token, SDY-P102 if the text ends too early.
    """
    try:
        return cast(ParseNode, _parser().parse(text, start=rule))
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise NotationError("SDY-P102", "unexpected end of text", len(text), hint=_hint(rule, text)) from None
        raise _unexpected(rule, text, cast(int, error.pos_in_stream)) from None
    except UnexpectedCharacters as error:
        raise _unexpected(rule, text, cast(int, error.pos_in_stream)) from None


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("sharding.lark").read_text(encoding="utf-8")
    return Lark(grammar, start=list(START_RULES), parser="lalr", lexer="contextual", tree_class=ParseNode)


def _unexpected(rule: str, text: str, offset: int) -> NotationError:
    hint: str | None = _hint(rule, text)
    # The lexer reads a keyword followed by further letters as the keyword; the error is about the full identifier.
    if re.match(r"[A-Za-z0-9_$.]", text[offset:]) and (identifier := _TRAILING_IDENTIFIER.search(text[:offset])):
        offset, hint = identifier.start(), None
    found = _TOKEN.match(text, offset)
    end = offset + 1 if found is None else found.end()
    return NotationError("SDY-P101", f"unexpected `{text[offset:end]}`", offset, end, hint)


def _accepted(rule: str, text: str) -> Iterable[str]:
    """Return the terminals that may come where parsing `text` stops.

    The errors of Lark list terminals that may follow the last symbol anywhere in the grammar.
    """
    parser = _parser().parse_interactive(text, start=rule)
    with suppress(UnexpectedToken, UnexpectedCharacters):
        parser.exhaust_lexer()
    return cast("set[str]", parser.accepts())


def _hint(rule: str, text: str) -> str:
    names = sorted(name for name in map(_terminal_name, _accepted(rule, text)) if name)
    return "expected " + (names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}")


def _terminal_name(terminal: str) -> str:
    """Return the name of a terminal for messages; an empty string for whitespace and comments."""
    if terminal in _TERMINAL_NAMES:
        return _TERMINAL_NAMES[terminal]
    if terminal in ("COMMENT", "WS"):
        return ""
    return f"`{_parser().get_terminal(terminal).pattern.value}`"
