"""A lexer for MLIR that returns the same tokens as xDSL's lexer but is much faster: a single regular expression."""

from __future__ import annotations

import re
from collections.abc import Callable

from xdsl.parser import ParserState
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

_SUFFIX = r"(?:[0-9]+|[A-Za-z$._-][A-Za-z0-9$._-]*)"
_STRING = r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"'

_TOKEN = re.compile(
    rf"""
    (?:[ \t\n\r\f\v]+|//[^\n]*)*+   # possessive, to avoid backtracking into blanks
    (?: (?P<BARE_IDENT>[A-Za-z_][A-Za-z0-9_$.]*)
      | (?P<PERCENT_IDENT>%{_SUFFIX})
      | (?P<PUNCTUATION>->|\#-\}}|\{{-\#|\.\.\.|[-:,=<>(){{}}\[\]+?/*|])
      | (?P<FLOAT_LIT>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?)
      | (?P<INTEGER_LIT>0x[0-9a-fA-F]+|[0-9]+)
      | (?P<STRING_LIT>{_STRING})
      | (?P<AT_IDENT>@(?:[A-Za-z_][A-Za-z0-9_$.]*|{_STRING}))
      | (?P<HASH_IDENT>\#{_SUFFIX})
      | (?P<EXCLAMATION_IDENT>!{_SUFFIX})
      | (?P<CARET_IDENT>\^{_SUFFIX})
      | (?P<EOF>\Z)
    )
    """,
    re.VERBOSE,
)

_SPACE = re.compile(r"(?:[ \t\n\r\f\v]+|//[^\n]*)*+")

_KINDS = {number: MLIRTokenKind[name] for name, number in _TOKEN.groupindex.items() if name != "PUNCTUATION"}
_PUNCTUATION_GROUP = _TOKEN.groupindex["PUNCTUATION"]
_STRING_GROUP = _TOKEN.groupindex["STRING_LIT"]
_INTEGER_GROUP = _TOKEN.groupindex["INTEGER_LIT"]
# The class of tokens: calling `MLIRToken`, which is the same class with type arguments, takes several times as long.
_new_token: Callable[[MLIRTokenKind, Span], MLIRToken] = Token
MAX_DIGITS = 1000  # Python does not convert integers of more than 4300 digits


class RegexLexer(MLIRLexer):
    """The lexer of `LocatingParser`."""

    def lex(self) -> MLIRToken:
        """Return the next token. Raises: ParseError at an invalid character."""
        content = self.input.content
        match = _TOKEN.match(content, self.pos)
        if match is None:
            raise self._error()
        group = match.lastindex
        assert group is not None  # every alternative of the pattern is a group
        start, end = match.span(group)
        if end - start > MAX_DIGITS and group == _INTEGER_GROUP:
            raise ParseError(Span(start, end, self.input), f"integers must have at most {MAX_DIGITS} digits")
        self.pos = end
        if group == _PUNCTUATION_GROUP:
            return _new_token(KIND_BY_PUNCTUATION_SPELLING[match[group]], Span(start, end, self.input))
        if group == _STRING_GROUP:
            return _new_token(_string_kind(match[group]), StringLiteral(start, end, self.input))
        return _new_token(_KINDS[group], Span(start, end, self.input))

    def _error(self) -> ParseError:
        content = self.input.content
        space = _SPACE.match(content, self.pos)
        start = space.end() if space is not None else self.pos
        character = content[start]
        if character == '"' or content.startswith('@"', start):
            escapes = '\\\\, \\n, \\t, \\" and two hex digits'
            message = f"expected a string that ends on its line, with no escapes but {escapes}"
        elif character in "%#!^@.":
            message = f"expected a name after {character}"
        else:
            message = f"unexpected character {character!r}"
        self.pos = start + 1
        return ParseError(Span(start, start + 1, self.input), message)


def _string_kind(text: str) -> MLIRTokenKind:
    """Return the token kind of a string; like xDSL, distinguish strings with escapes of non-ASCII bytes."""
    if "\\" in text and re.search(r"\\[89A-Fa-f][0-9A-Fa-f]", text.replace("\\\\", "")):
        return MLIRTokenKind.BYTES_LIT
    return MLIRTokenKind.STRING_LIT


class LazyTokenState(ParserState[MLIRTokenKind, str]):
    """A parser state that lexes the next token on demand: lines with a template need no tokens."""

    def __init__(self, lexer: RegexLexer) -> None:
        self.lexer = lexer
        self.token: MLIRToken | None = None
        self.dialect_stack = []

    @property
    def current_token(self) -> MLIRToken:
        """The next token."""
        if self.token is None:
            self.token = self.lexer.lex()
        return self.token

    @current_token.setter
    def current_token(  # pyright: ignore[reportIncompatibleVariableOverride] -- a field in xDSL, a property here
        self, token: MLIRToken
    ) -> None:
        self.token = token
