"""Parsing of the sharding notation inside MLIR text: finds the text range of a value and passes it to the grammar.

This is the only module that moves an xDSL parser with `_resume_from`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TypeVar, cast

from xdsl.ir import Attribute, Data
from xdsl.parser import AttrParser

from sdy.diagnostics.diagnostic import SdyError
from sdy.grammar.errors import NotationError, SourceText
from sdy.grammar.parse import Notation

T = TypeVar("T")
DataT = TypeVar("DataT", bound=Data[object])

_CLOSING = {"[": "]", "(": ")", "{": "}", "<": ">"}
_MAX_NESTING = 5  # how deep brackets of one kind may nest in the notation


def _without(brackets: str) -> str:
    """Return a pattern of text without these brackets; strings, comments and `->` are skipped as a whole."""
    return rf'[^{re.escape(brackets)}"/-]++|->|-|/(?!/)|"(?:\\.|[^"\\\n])*+"|//[^\n]*+'


def _balanced(opening: str) -> str:
    """Return a pattern of text in brackets. Only this kind of brackets must balance; the grammar checks the others."""
    closing = _CLOSING[opening]
    text = _without(opening + closing)
    pattern = ""
    for _ in range(_MAX_NESTING):
        inner = f"{text}|{pattern}" if pattern else text
        pattern = rf"\{opening}(?:{inner})*+\{closing}"
    return pattern


@cache
def _flat(opening: str) -> re.Pattern[str]:
    """Return a pattern of the common case of `_balanced`: no inner brackets of this kind, no escapes, no comments.

    It takes a tenth of the time to compile.
    """
    closing = _CLOSING[opening]
    return re.compile(rf'\{opening}(?:[^{re.escape(opening + closing)}"/-]|"[^"\\\n]*")*+\{closing}')


@cache
def _bracketed(opening: str) -> re.Pattern[str]:
    return re.compile(_balanced(opening))


@cache
def _up_to_closing_angle() -> re.Pattern[str]:
    return re.compile(rf"(?:{_without('<>')}|{_balanced('<')})*+")


_ALIAS = re.compile(r"#[A-Za-z_][A-Za-z0-9_$]*(?![A-Za-z0-9_$.<])")
_DOT_FORM_BEFORE = re.compile(r"#[A-Za-z_][A-Za-z0-9_$]*\.[A-Za-z0-9_$.]*(?:\s|//[^\n]*\n)+\Z")
_MAX_MNEMONIC_LENGTH = 200  # how far to look back for the start of an attribute


def read_bracketed(parser: AttrParser, notation: Notation[T]) -> T:
    """Parse a value in brackets at the parser's position, and move the parser to the end of the closing bracket.

    Raises: SdyError if the text does not follow the notation.
    """
    content = _content(parser)
    start = parser.pos
    _forbid_blank_in_dot_form(parser, content, start)
    opening = content[start : start + 1]
    if opening not in _CLOSING:
        raise _error(
            parser,
            start,
            NotationError("SDY-P110", f"expected a bracket at the start of {_notation_name(notation)}", 0),
        )
    match = _flat(opening).match(content, start) or _bracketed(opening).match(content, start)
    # If brackets do not match, parse all the remaining text: the grammar reports the mistake.
    return _read(parser, notation, start, len(content) if match is None else match.end())


def read_rest(parser: AttrParser, notation: Notation[T]) -> T:
    """Parse a value up to the `>` that closes an attribute in the form `#sdy<name...>`.

    Raises: SdyError if the text does not follow the notation.
    """
    match = _up_to_closing_angle().match(_content(parser), parser.pos)
    assert match is not None  # the pattern matches the empty text
    return _read(parser, notation, parser.pos, match.end())


def is_at_attribute(parser: AttrParser) -> bool:
    """Return whether the parser is at an attribute in its long form, or at an attribute alias."""
    return _content(parser).startswith("#", parser.pos)


def read_attribute(parser: AttrParser, expected: type[DataT]) -> DataT:
    """Parse an attribute in its long form.

    Raises: SdyError if it is not an attribute of the expected class.
    """
    start = parser.pos
    alias = _ALIAS.match(_content(parser), start)
    if alias is not None and alias[0] not in parser.attribute_aliases:
        message = f"undefined attribute alias {alias[0]}"
        raise _error(parser, start, NotationError("SDY-P108", message, 0, len(alias[0])))
    attribute = parser.parse_attribute()
    if isinstance(attribute, expected):
        return attribute
    message = f"expected a #{expected.name} attribute, got {attribute}"
    raise _error(parser, start, NotationError("SDY-S031", message, 0))


def _read(parser: AttrParser, notation: Notation[T], start: int, end: int) -> T:
    try:
        value = notation.read(_content(parser)[start:end], lambda name: _alias(parser, name))
    except NotationError as error:
        raise _error(parser, start, error) from None
    parser._resume_from(end)  # pyright: ignore[reportPrivateUsage] - xDSL has no public way to skip text
    return value


def _alias(parser: AttrParser, name: str) -> object:
    attribute: Attribute | None = parser.attribute_aliases.get(f"#{name}")
    return cast("Data[object]", attribute).data if isinstance(attribute, Data) else attribute


def _content(parser: AttrParser) -> str:
    return parser.lexer.input.content


def _error(parser: AttrParser, start: int, error: NotationError) -> SdyError:
    return SourceText(parser.lexer.input.name, _content(parser), start).error(error)


def _notation_name(notation: Notation[T]) -> str:
    return f"the notation of {notation.rule.replace('_', ' ')}"


def _forbid_blank_in_dot_form(parser: AttrParser, content: str, start: int) -> None:
    """Raise an error for a blank before the `<` of `#sdy.mesh<...>`, as MLIR does."""
    if start == 0 or not (content[start - 1].isspace()):
        return
    before = content[max(0, start - _MAX_MNEMONIC_LENGTH) : start]
    if _DOT_FORM_BEFORE.search(before):
        message = "unexpected blank between the name of an attribute and its body"
        raise _error(parser, start, NotationError("SDY-P110", message, 0))
