"""The parser that Lark makes of the grammar: text to tree. The one file that touches Lark's untyped edges."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from sdy.grammar.errors import NotationError


class ParseNode(Tree[Token]):
    """A rule of the grammar as found in a text. What the grammar puts at a place is what callers may ask for there."""

    def token(self, index: int) -> Token:
        """The child at `index`, a token."""
        child = self.children[index]
        assert isinstance(child, Token)
        return child

    def node(self, index: int) -> ParseNode:
        """The child at `index`, a node."""
        child = self.children[index]
        assert isinstance(child, ParseNode)
        return child

    def has(self, index: int) -> bool:
        """Whether the optional child at `index` is there."""
        return bool(cast("list[object]", self.children)[index] is not None)

    def tokens(self) -> list[Token]:
        """The children that are tokens."""
        return [child for child in self.children if isinstance(child, Token)]

    def nodes(self) -> list[ParseNode]:
        """The children that are nodes."""
        return [child for child in self.children if isinstance(child, ParseNode)]

    def extent(self) -> tuple[int, int]:
        """Where the first token of the node begins and the last one ends, punctuation aside."""
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

_PLAIN_NAMES = {
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
    "WORD": "a word",
    "$END": "the end",
}
_LAST_OF_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*\Z")
_TOKEN = re.compile(r'[A-Za-z_@#][A-Za-z0-9_$.]*|0x[0-9A-Fa-f]+|[0-9]+|"(?:\\.|[^"\\\n])*"|->|.')


def parse_tree(rule: str, text: str) -> ParseNode:
    """The tree of `text`, which must be one `rule` and nothing else.

    Raises: NotationError at the first token that does not fit.
    """
    try:
        return cast(ParseNode, _parser().parse(text, start=rule))
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise NotationError("SDY-P102", "the text ends here", len(text), hint=_hint(error.expected)) from None
        raise _unexpected(text, cast(int, error.pos_in_stream), error.expected) from None
    except UnexpectedCharacters as error:
        raise _unexpected(text, cast(int, error.pos_in_stream), error.allowed) from None


@cache
def _parser() -> Lark:
    grammar = files("sdy.grammar").joinpath("sharding.lark").read_text(encoding="utf-8")
    return Lark(grammar, start=list(START_RULES), parser="lalr", lexer="contextual", tree_class=ParseNode)


def _unexpected(text: str, offset: int, expected: Iterable[str]) -> NotationError:
    hint: str | None = _hint(expected)
    # A keyword that another letter follows was read as the keyword: the whole word is what is wrong.
    if re.match(r"[A-Za-z0-9_$.]", text[offset:]) and (word := _LAST_OF_WORD.search(text[:offset])):
        offset, hint = word.start(), None
    found = _TOKEN.match(text, offset)
    end = offset + 1 if found is None else found.end()
    return NotationError("SDY-P101", f"unexpected `{text[offset:end]}`", offset, end, hint)


def _hint(expected: Iterable[str]) -> str:
    names = sorted(name for name in map(_plain, expected) if name)
    return "expected " + (names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}")


def _plain(terminal: str) -> str:
    """What people call a terminal; nothing where it is whitespace."""
    if terminal in _PLAIN_NAMES:
        return _PLAIN_NAMES[terminal]
    if terminal in ("COMMENT", "WS"):
        return ""
    return f"`{_parser().get_terminal(terminal).pattern.value}`"
