"""The tokens of MLIR text, lexed on demand by a single regular expression, and errors at places of the text.

The tokens are those of xDSL's lexer, which is much slower."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate, repeat
from operator import add
from typing import NoReturn

from xdsl.context import Context
from xdsl.parser import Parser, ParserState, Position
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

from sdy.diagnostics import diagnostic
from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError, span_at

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


class TokenParser(Parser):
    """A parser of the text of `file`, with a faster lexer than that of xDSL."""

    def __init__(self, context: Context, text: str, file: str) -> None:
        super().__init__(context, "", file)
        self._state = LazyTokenState(RegexLexer(Input(text, file)))
        self._parser_state = self._state
        self.lines = SourceLines(file, text)
        self.consumed = 0
        """The end of the last token consumed."""

    @property
    def _current_token(self) -> MLIRToken:
        return self._state.token or self._state.current_token  # without the properties that xDSL calls

    def position(self) -> int:
        """Return the offset at which the next token begins, or the blanks before it."""
        token = self._state.token
        return self.lexer.pos if token is None else token.span.start

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> MLIRToken:
        consumed = self._current_token
        self._state.token = None
        self.consumed = consumed.span.end
        return consumed

    def _resume_from(self, pos: Position | ParserState[MLIRTokenKind, str]) -> None:
        if isinstance(pos, ParserState):
            super()._resume_from(pos)
            return
        self.lexer.pos = self.consumed = pos
        self._state.token = None

    def fail(
        self, code: str, message: str, span: Span, hint: str | None = None, notes: tuple[Note, ...] = ()
    ) -> NoReturn:
        """Raise SdyError at a span of the text."""
        raise SdyError(Diagnostic(code, message, self.lines.span(span.start, span.end), hint, notes))


class SourceLines:
    """The lines of the text of `file`. Lines and columns count from 1, indices and offsets from 0."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self.texts = text.split("\n")
        """The lines, without line breaks."""
        self.starts = list(accumulate(map(add, map(len, self.texts), repeat(1)), initial=0))
        """The offset of each line, and that of the line after the last one."""

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset."""
        index = self._index_of(offset)
        return index + 1, offset - self.starts[index] + 1

    def index_at_begin(self, offset: int) -> int | None:
        """Return the index of the line that begins at an offset, not counting blanks before and after it; else None."""
        index = self._index_of(offset)
        before, after = self._text[self.starts[index] : offset], self._text[offset : self.starts[index + 1]]
        if not before.strip():
            return index
        return None if after.strip() else index + 1

    def _index_of(self, offset: int) -> int:
        return bisect_right(self.starts, offset, hi=len(self.texts)) - 1

    def span(self, start: int, end: int | None = None) -> diagnostic.Span:
        """Return the span from `start` to `end`, truncated at the end of its line."""
        return span_at(self._file, self._text, start, end)
