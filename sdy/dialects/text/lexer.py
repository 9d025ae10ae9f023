"""MLIR's tokens by one regular expression: the same tokens as xDSL's lexer, in a fraction of its time."""

from __future__ import annotations

import re

from xdsl.parser import ParserState
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

_SUFFIX = r"(?:[0-9]+|[A-Za-z$._-][A-Za-z0-9$._-]*)"
_STRING = r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"'

_TOKEN = re.compile(
    rf"""
    (?:[ \t\n\r\f\v]+|//[^\n]*)*+   # possessive: blanks are divided in one way only
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
_PUNCTUATION = _TOKEN.groupindex["PUNCTUATION"]
_STRINGS = _TOKEN.groupindex["STRING_LIT"]
_INTEGERS = _TOKEN.groupindex["INTEGER_LIT"]
MAX_DIGITS = 1000  # digits; beyond 4300, Python refuses to read a number


class RegexLexer(MLIRLexer):
    """The lexer of `LocatingParser`."""

    def lex(self) -> MLIRToken:
        """The next token. Raises: ParseError at a character that begins none."""
        content = self.input.content
        match = _TOKEN.match(content, self.pos)
        if match is None:
            raise self._error()
        group = match.lastindex
        assert group is not None  # every alternative is a group
        start, end = match.span(group)
        if end - start > MAX_DIGITS and group == _INTEGERS:
            raise ParseError(Span(start, end, self.input), f"an integer has at most {MAX_DIGITS} digits")
        self.pos = end
        if group == _PUNCTUATION:
            return MLIRToken(KIND_BY_PUNCTUATION_SPELLING[match[group]], Span(start, end, self.input))
        if group == _STRINGS:
            return MLIRToken(_string_kind(match[group]), StringLiteral(start, end, self.input))
        return MLIRToken(_KINDS[group], Span(start, end, self.input))

    def _error(self) -> ParseError:
        content = self.input.content
        space = _SPACE.match(content, self.pos)
        start = space.end() if space is not None else self.pos
        character = content[start]
        if character == '"' or content.startswith('@"', start):
            message = (
                'this string has no end on its line, or an escape other than \\\\, \\n, \\t, \\" and two hex digits'
            )
        elif character in "%#!^@.":
            message = f"{character} is not followed by a name"
        else:
            message = f"no token begins with {character!r}"
        self.pos = start + 1
        return ParseError(Span(start, start + 1, self.input), message)


def _string_kind(text: str) -> MLIRTokenKind:
    """Strings whose escapes spell bytes beyond ASCII are a kind of their own, as in xDSL."""
    if "\\" in text and re.search(r"\\[89A-Fa-f][0-9A-Fa-f]", text.replace("\\\\", "")):
        return MLIRTokenKind.BYTES_LIT
    return MLIRTokenKind.STRING_LIT


class LazyTokenState(ParserState[MLIRTokenKind, str]):
    """A state that reads the next token when somebody asks for it: a line that has a template needs no tokens."""

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
    def current_token(  # pyright: ignore[reportIncompatibleVariableOverride] -- xDSL's field, read and set alike
        self, token: MLIRToken
    ) -> None:
        self.token = token
